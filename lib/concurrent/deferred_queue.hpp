// Work that could not be done when it was due and is retried.
#pragma once

#include <atomic>
#include <mutex>

#include "lib/base/cpu.hpp"
#include "lib/concurrent/spinlock.hpp"

namespace lci {

/// Base of work that may be deferred. It contains its link in the list, so deferring it needs no memory and never
/// fails.
struct deferred_task {
  /// Does the work, or pushes the task again. True if there was progress. May delete the task.
  bool (*run)(deferred_task* self);
  deferred_task* next = nullptr;  // the queue's

  explicit deferred_task(bool (*f)(deferred_task*)) : run(f) {}
};

/// A list of tasks. The caller of push() owns the task and keeps it alive until it has run; it must not push a task
/// that is in a list. Thread-safe. Usually empty, so callers of run() check `count` first.
class deferred_queue {
 public:
  void push(deferred_task* t) {
    t->next = nullptr;
    // Read under the lock: once it is released, another thread may run the task, which may delete this queue.
    void (*wake)(void*);
    void* argument;
    {
      std::lock_guard guard(lock_);
      *(last_ != nullptr ? &last_->next : &first_) = t;
      last_ = t;
      count.fetch_add(1, std::memory_order_relaxed);
      wake = on_push;
      argument = on_push_argument;
    }
    if (wake != nullptr) wake(argument);
  }

  /// Runs each task of the list once, without those pushed meanwhile. True if any made progress. If a task
  /// throws, the following ones stay in the list, and the exception goes to the caller.
  bool run() {
    batch now{*this};
    {
      std::lock_guard guard(lock_);
      now.first = first_;
      now.last = last_;
      first_ = last_ = nullptr;
      count.store(0, std::memory_order_relaxed);
    }
    bool achieved = false;
    while (deferred_task* const t = now.first) {
      now.first = t->next;  // first of all: running it may push it again, or delete it
      achieved |= t->run(t);
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
  /// The tasks of one run(). If one throws, the destructor returns those after it to the front of the list.
  struct batch {
    deferred_queue& of;
    deferred_task* first = nullptr;
    deferred_task* last = nullptr;
    ~batch() {
      if (LCI_LIKELY(first == nullptr)) return;
      std::lock_guard guard(of.lock_);
      int n = 1;
      for (const deferred_task* t = first; t != last; t = t->next) ++n;
      last->next = of.first_;
      of.first_ = first;
      if (of.last_ == nullptr) of.last_ = last;
      of.count.fetch_add(n, std::memory_order_relaxed);
    }
  };

  spinlock lock_;
  deferred_task* first_ = nullptr;  // under lock_
  deferred_task* last_ = nullptr;   // under lock_
};

}  // namespace lci
