// Progress of a class while the program makes none.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>

struct na_class;

namespace na {

/// A thread that makes progress while no thread of the program does. So a process answers lookups while it computes, or
/// waits in another class. It checks every 20 ms, and every millisecond while messages arrive. Owned by the class,
/// whose constructor and destructor call start() and stop().
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
