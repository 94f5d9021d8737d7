// Queues of calls and continuations that wait for a thread of the engine, and the threads of its pool.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "lib/concurrent/biased_lock.hpp"

namespace lci::rpc::detail {

class incoming;

/// A first-in, first-out queue of objects, linked by their members `next`. Does not own them; an object is in one queue
/// at most. Needs no memory. Thread-safe.
template <class T>
class work_queue {
 public:
  void push(T* t) {
    t->next = nullptr;
    std::lock_guard guard(lock_);
    T* const first = first_.load(std::memory_order_relaxed);
    if (first == nullptr)
      first_.store(t, std::memory_order_release);
    else
      last_->next = t;
    last_ = t;
  }
  T* pop() {
    if (is_empty()) return nullptr;
    std::lock_guard guard(lock_);
    T* const t = first_.load(std::memory_order_relaxed);
    if (t != nullptr) first_.store(t->next, std::memory_order_release);
    return t;
  }
  bool is_empty() const { return first_.load(std::memory_order_acquire) == nullptr; }

 private:
  lci::biased_lock lock_;
  std::atomic<T*> first_{nullptr};  // written under the lock
  T* last_ = nullptr;               // under the lock
};

/// A pool of threads. Thread-safe. The destructor executes the remaining work and joins the threads.
class workers {
 public:
  workers(int n, std::function<void(incoming*)> execute);
  ~workers();
  workers(const workers&) = delete;
  workers& operator=(const workers&) = delete;

  void push(incoming* in);
  size_t size() const { return size_.load(std::memory_order_acquire); }

 private:
  void run();

  const std::function<void(incoming*)> execute_;
  std::mutex lock_;  // guards the members below
  std::condition_variable changed_;
  std::deque<incoming*> waiting_;
  bool ends_ = false;
  std::atomic<size_t> size_{0};  // size of waiting_, read without the lock
  std::vector<std::thread> threads_;
};

}  // namespace lci::rpc::detail
