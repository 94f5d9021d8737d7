// Progress of a class that the program neglects for a while.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

struct na_class;

namespace na {

/// A thread that makes progress while no thread of the program does: so a lookup ends although the process that is
/// looked up computes, or waits in another class. It looks every 20 ms, and each millisecond while something happens.
/// Owned by the class; start() and stop() are for its constructor and destructor.
class background {
 public:
  ~background() { stop(); }
  /// Throws lci::resource_error if there is no thread.
  void start(na_class& c);
  void stop();

 private:
  void run(na_class& c);

  std::mutex mutex_;
  std::condition_variable changed_;
  bool stops_ = false;  // under mutex_
  std::thread thread_;
};

}  // namespace na
