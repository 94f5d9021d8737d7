// Queues of calls and continuations that wait for a thread of the engine, and the threads of its pool.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "lib/concurrent/spinlock.hpp"

namespace lci::rpc::detail {

class incoming;

/// A first-in, first-out queue of pointers. Does not own the objects. Thread-safe.
template <class T>
class work_queue {
 public:
  void push(T* t) {
    std::lock_guard guard(lock_);
    items_.push_back(t);
    size_.store(items_.size(), std::memory_order_release);
  }
  T* pop() {
    if (is_empty()) return nullptr;
    std::lock_guard guard(lock_);
    if (items_.empty()) return nullptr;
    T* t = items_.front();
    items_.pop_front();
    size_.store(items_.size(), std::memory_order_release);
    return t;
  }
  bool is_empty() const { return size() == 0; }
  size_t size() const { return size_.load(std::memory_order_acquire); }

 private:
  lci::spinlock lock_;
  std::deque<T*> items_;
  std::atomic<size_t> size_{0};  // size of items_, read without the lock
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
