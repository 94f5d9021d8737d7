// Queues of calls and continuations that wait for a thread. For HG and for lci/rpc.hpp.
#pragma once

#include <na.h>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <utility>

#include "lib/concurrent/biased_lock.hpp"

namespace mercury {

/// The most calls in a queue whose callers have left.
constexpr size_t most_departed = 4096;

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
  /// Removes the oldest object for which is_wanted() is true. Looks at all until it finds one.
  template <class F>
  T* pop_if(F is_wanted) {
    if (is_empty()) return nullptr;
    std::lock_guard guard(lock_);
    T* before = nullptr;
    for (T* t = first_.load(std::memory_order_relaxed); t != nullptr; before = t, t = t->next) {
      if (!is_wanted(*t)) continue;
      if (before == nullptr)
        first_.store(t->next, std::memory_order_release);
      else
        before->next = t->next;
      if (last_ == t) last_ = before;
      return t;
    }
    return nullptr;
  }
  /// Returns whether is_wanted() is true for any object.
  template <class F>
  bool has(F is_wanted) {
    if (is_empty()) return false;
    std::lock_guard guard(lock_);
    for (T* t = first_.load(std::memory_order_relaxed); t != nullptr; t = t->next)
      if (is_wanted(*t)) return true;
    return false;
  }
  /// Calls only: `peer` has left. Its calls are still executed, as it may not have waited for their answers. But if
  /// there are more than most_departed calls of peers that have left, or arguments were fetched, removes those of this
  /// peer, so that processes which come and go without end need bounded memory. Returns a list of what was removed.
  T* on_departure(na_addr_t peer) {
    if (is_empty()) return nullptr;
    std::lock_guard guard(lock_);
    size_t n = 0;
    for (T* t = first_.load(std::memory_order_relaxed); t != nullptr; t = t->next) n += t->note_departure(peer);
    T *removed = nullptr, *kept = nullptr, *last = nullptr;
    for (T *t = first_.load(std::memory_order_relaxed), *after = nullptr; t != nullptr; t = after) {
      after = t->next;
      t->next = nullptr;
      if (t->source == peer && (n > most_departed || t->has_fetched())) {
        t->next = std::exchange(removed, t);
      } else {
        (kept == nullptr ? kept : last->next) = t;
        last = t;
      }
    }
    last_ = last;
    first_.store(kept, std::memory_order_release);
    return removed;
  }
  bool is_empty() const { return first_.load(std::memory_order_acquire) == nullptr; }

 private:
  lci::biased_lock lock_;
  std::atomic<T*> first_{nullptr};  // written under the lock
  T* last_ = nullptr;               // under the lock
};

}  // namespace mercury
