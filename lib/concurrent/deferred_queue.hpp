// Work that could not be done when it was due and is retried.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <vector>

#include "lib/concurrent/spinlock.hpp"

namespace lci {

/// A list of tasks. The caller of push() owns what a task points to, and keeps it alive until the task has run.
/// Thread-safe. Usually empty, so callers of run() check `count` first.
class deferred_queue {
 public:
  struct task {
    /// Does the work, or pushes itself again. True if there was progress.
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

  /// Runs each task of the list once, without those pushed meanwhile. True if any made progress. If a task
  /// throws, the following ones stay in the list, and the exception goes to the caller.
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

  /// Number of tasks. May be stale, which only delays the work.
  std::atomic<int> count{0};

  /// Called after each push(), if set: wakes threads that sleep while there is nothing to run. Set it
  /// before the first push().
  void (*on_push)(void* argument) = nullptr;
  void* on_push_argument = nullptr;

 private:
  spinlock lock_;
  std::vector<task> tasks_;  // under lock_
};

}  // namespace lci
