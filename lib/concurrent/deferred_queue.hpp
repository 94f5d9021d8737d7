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
  /// Does the work, or pushes the task again. Returns true if there was progress. May delete the task.
  bool (*run)(deferred_task* self);
  deferred_task* next = nullptr;  // the queue's
  /// The task may use devices that do not count it among what they wait for. So the thread that frees a device waits
  /// while other threads run such tasks.
  const bool uses_any_device;

  explicit deferred_task(bool (*f)(deferred_task*), bool any_device = false) : run(f), uses_any_device(any_device) {}
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

  /// Runs each task of the list once, without those pushed meanwhile. Returns true if any made progress. If a task
  /// throws, the following ones stay in the list, and the exception goes to the caller. The last task may delete this
  /// queue.
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

  /// Runs as many tasks as the list has now. In contrast to run() it takes one after the other from the list, so that
  /// other threads can run those that follow a long one. Returns true if any task made progress. If a task throws, the
  /// following ones stay in the list, and the exception goes to the caller. No task may delete this queue.
  bool run_each() {
    bool achieved = false;
    for (int left = count.load(std::memory_order_relaxed); left > 0; --left) {
      const taken now(*this);
      if (now.task == nullptr) break;  // other threads have taken the rest
      achieved |= now.task->run(now.task);
    }
    return achieved;
  }
  /// Returns true while a thread is inside run_each() with a task that uses any device. After `false` the caller sees
  /// what such tasks have done, and those that begin later see what the caller has done.
  bool any_device_is_used() const {
    std::lock_guard guard(lock_);
    return using_any_device_ != 0;
  }

  /// Number of tasks. May be stale, which only delays the work.
  std::atomic<int> count{0};

  /// If it is not null, push() calls it last, to wake threads that sleep while there is nothing to run. Set it before
  /// the first push().
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

  /// A task that run_each() has taken from the list.
  struct taken {
    deferred_queue& of;
    deferred_task* task;  // null: the list was empty; it may delete itself when it runs
    bool uses_any_device = false;

    explicit taken(deferred_queue& queue) : of(queue) {
      std::lock_guard guard(of.lock_);
      task = of.first_;
      if (task == nullptr) return;
      of.first_ = task->next;
      if (of.first_ == nullptr) of.last_ = nullptr;
      of.count.fetch_sub(1, std::memory_order_relaxed);
      uses_any_device = task->uses_any_device;
      of.using_any_device_ += uses_any_device ? 1 : 0;
    }
    ~taken() {
      if (!uses_any_device) return;
      std::lock_guard guard(of.lock_);
      of.using_any_device_ -= 1;
    }
    taken(const taken&) = delete;
    taken& operator=(const taken&) = delete;
  };

  mutable spinlock lock_;
  deferred_task* first_ = nullptr;  // under lock_
  deferred_task* last_ = nullptr;   // under lock_
  int using_any_device_ = 0;        // tasks that run_each() runs now and that use any device; under lock_
};

}  // namespace lci
