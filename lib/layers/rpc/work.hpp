// The threads of an engine's pool, and the calls that wait for them.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "lib/layers/mercury/work_queue.hpp"

namespace lci::rpc::detail {

class incoming;
using mercury::work_queue;

/// A pool of threads. Thread-safe.
class workers {
 public:
  workers(int n, std::function<void(incoming*)> execute);
  ~workers() { stop(); }
  workers(const workers&) = delete;
  workers& operator=(const workers&) = delete;

  void push(incoming* in);
  /// Executes the remaining calls and joins the threads.
  void stop();
  /// Calls that no thread executes yet.
  work_queue<incoming>& waiting() { return waiting_; }

 private:
  void run();

  const std::function<void(incoming*)> execute_;
  work_queue<incoming> waiting_;
  std::mutex lock_;  // under which calls are added and threads begin to sleep
  std::condition_variable changed_;
  bool ends_ = false;  // under lock_
  std::vector<std::thread> threads_;
};

}  // namespace lci::rpc::detail
