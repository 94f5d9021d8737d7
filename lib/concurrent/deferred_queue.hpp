// Work that could not be done when it was due and is tried again from time to time.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <vector>

#include "lib/concurrent/spinlock.hpp"

namespace lci {

/// Thread-safe. Expected to be empty nearly always: `count` spares the caller of run() the rest.
/// What a task points to belongs to whoever pushed it and must live until the task has run.
class deferred_queue {
 public:
  struct task {
    /// Does the work, or pushes itself again. True if anything was achieved.
    bool (*run)(void* self);
    void* self;
  };

  void push(task t) {
    {
      std::lock_guard guard(lock_);
      tasks_.push_back(t);
      count.store(static_cast<int>(tasks_.size()), std::memory_order_relaxed);
    }
    if (on_push != nullptr) on_push(on_push_argument);
  }

  /// Runs the tasks that are there now, once each. True if any achieved something. If a task
  /// throws, the ones behind it stay, and the exception goes to the caller.
  bool run() {
    std::vector<task> batch;
    {
      std::lock_guard guard(lock_);
      batch.swap(tasks_);
      count.store(0, std::memory_order_relaxed);
    }
    bool achieved = false;
    for (size_t i = 0; i < batch.size(); ++i) {
      try {
        achieved |= batch[i].run(batch[i].self);
      } catch (...) {
        while (++i < batch.size()) push(batch[i]);
        throw;
      }
    }
    return achieved;
  }

  /// Tasks that wait. May be stale when read without a lock, which only delays the work.
  std::atomic<int> count{0};

  /// Called after each push(), if set: for threads that sleep while there is nothing to run. To be
  /// set before the first push().
  void (*on_push)(void* argument) = nullptr;
  void* on_push_argument = nullptr;

 private:
  spinlock lock_;
  std::vector<task> tasks_;  // under lock_
};

}  // namespace lci
