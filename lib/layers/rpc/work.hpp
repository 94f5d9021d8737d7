// The threads of an engine's pool, and the calls that wait for them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "lib/layers/mercury/work_queue.hpp"

namespace lci::rpc::detail {

class incoming;
using mercury::work_queue;

/// Throws lci::resource_error if the system has no further thread.
std::thread start_thread(std::function<void()> f);

/// A pool of threads. Thread-safe.
class workers {
 public:
  /// A scope in which a thread of the pool, in a function that it executes, waits and executes further calls: it takes
  /// them from waiting(). Counted before the thread first looks there, so that push() reports a thread which may have
  /// found nothing there.
  class nested {
   public:
    /// Null: the thread is not of the pool.
    explicit nested(workers* w) : workers_(w) {
      if (w != nullptr) w->nested_.fetch_add(1, std::memory_order_acq_rel);
    }
    ~nested() {
      if (workers_ != nullptr) workers_->nested_.fetch_sub(1, std::memory_order_relaxed);
    }
    nested(const nested&) = delete;
    nested& operator=(const nested&) = delete;

   private:
    workers* const workers_;
  };

  /// Throws lci::resource_error if the system has not so many threads.
  workers(int n, std::function<void(incoming*)> execute);
  ~workers() { stop(); }
  workers(const workers&) = delete;
  workers& operator=(const workers&) = delete;

  /// Returns whether threads are nested: the caller must wake them.
  bool push(incoming* in);
  /// Executes the remaining calls and joins the threads.
  void stop();
  /// Calls that no thread executes yet.
  work_queue<incoming>& waiting() { return waiting_; }

 private:
  void run();

  const std::function<void(incoming*)> execute_;
  work_queue<incoming> waiting_;
  std::atomic<int> nested_{0};
  std::mutex lock_;  // under which calls are added and threads begin to sleep
  std::condition_variable changed_;
  bool ends_ = false;  // under lock_
  std::vector<std::thread> threads_;
};

}  // namespace lci::rpc::detail
