// Completion queues: statuses ordered per signalling thread, or over all threads.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <mutex>

#include "lci/completion.hpp"
#include "lib/base/cpu.hpp"
#include "lib/base/memory.hpp"
#include "lib/base/objects.hpp"
#include "lib/concurrent/bounded_queue.hpp"
#include "lib/concurrent/parking.hpp"
#include "lib/concurrent/segmented_queue.hpp"
#include "lib/concurrent/sharded_queue.hpp"
#include "lib/concurrent/spinlock.hpp"

namespace lci::core {

/// Thread-safe. Never loses a status. A thread that has taken the last status may free the queue, even before
/// its signaller has returned from signal().
class completion_queue : public comp_impl_t {
 public:
  /// Returns false if the queue is empty, or if the oldest status is still being written.
  bool pop(status_t& out);
  /// Like pop(out), but returns the status, or `retry` in place of false.
  status_t pop();
  /// Takes at most `max` statuses in the order of repeated calls of pop(), and returns their number.
  size_t pop_many(status_t* out, size_t max);
  /// Sleeps until pop() may succeed, at most `timeout_ns` (negative: for ever). Each status wakes one
  /// sleeper: call pop() afterwards.
  void sleep(int64_t timeout_ns);

 protected:
  explicit completion_queue(attr_t a) : comp_impl_t(a) { attr.comp_type = attr_comp_type_t::cq; }
  event_count<> sleepers_;
};

/// cq_type lcrq: grows. Signalling threads don't contend: statuses are ordered per thread, and per
/// ordered stream.
class unbounded_queue final : public completion_queue, public object_memory<unbounded_queue, false> {
 public:
  explicit unbounded_queue(attr_t a) : completion_queue(a) {}

  void signal(status_t status) override { push(status); }
  // Rare cases are calls at the end, so that no registers need saving.
  LCI_ALWAYS_INLINE void push(const status_t& status) {
    push_or(status, [](unbounded_queue& queue, const status_t& s) { queue.push_otherwise(s); });
  }
  /// The same, but calls `otherwise(queue, status)` where a push may fail for lack of memory.
  template <class F>
  LCI_ALWAYS_INLINE void push_or(const status_t& status, F otherwise) {
    auto* const cell = items_.claim_directly();
    if (LCI_UNLIKELY(cell == nullptr)) return otherwise(*this, status);
    const bool asleep = sleepers_.notice();
    items_.fill(cell, status);
    if (LCI_UNLIKELY(asleep)) wake();
  }
  bool pop(status_t& out) { return items_.pop(out); }
  LCI_ALWAYS_INLINE status_t pop() {
    auto* const cell = items_.take_directly();
    return LCI_LIKELY(cell != nullptr) ? items_.item_of(cell) : pop_otherwise();
  }
  size_t pop_many(status_t* out, size_t max) { return items_.pop_many(out, max); }
  void sleep(int64_t timeout_ns) {
    sleepers_.sleep([this] { return items_.idle(); }, timeout_ns);
  }

 private:
  // By value: so a status that push() got in registers is stored only in the cell.
  LCI_NOINLINE void push_otherwise(status_t status) {
    bool asleep = false;
    items_.push(status, [&] { asleep = sleepers_.notice(); });
    if (LCI_UNLIKELY(asleep)) sleepers_.wake();
  }
  LCI_NOINLINE void wake() { sleepers_.wake(); }
  LCI_NOINLINE status_t pop_otherwise() {
    auto* const cell = items_.take();
    return cell != nullptr ? items_.item_of(cell) : status_t(errorcode_t::retry);
  }

  sharded_queue<status_t> items_;
};

/// cq_type fifo: grows. One order over all threads: a status whose signal() has returned comes out before those whose
/// signal() is called afterwards, by any thread.
class fifo_queue final : public completion_queue, public object_memory<fifo_queue, false> {
 public:
  explicit fifo_queue(attr_t a) : completion_queue(a) {}

  void signal(status_t status) override {
    bool asleep = false;
    items_.push(status, [&] { asleep = sleepers_.notice(); });
    if (LCI_UNLIKELY(asleep)) sleepers_.wake();
  }
  bool pop(status_t& out) { return items_.pop(out); }
  size_t pop_many(status_t* out, size_t max) { return items_.pop_many(out, max); }
  void sleep(int64_t timeout_ns) {
    sleepers_.sleep([this] { return items_.idle(); }, timeout_ns);
  }

 private:
  segmented_queue<status_t> items_;
};

/// cq_type array_atomic: a ring of attr.cq_default_length slots. A status that does not fit, and all later ones
/// until the list is empty again, go to a list under a lock, which is popped when
/// the ring is empty. So statuses of one signaller stay in order.
class ring_queue final : public completion_queue, public object_memory<ring_queue, false> {
 public:
  explicit ring_queue(attr_t a) : completion_queue(a), items_(static_cast<size_t>(a.cq_default_length)) {}

  void signal(status_t status) override {
    bool asleep = false;
    if (LCI_UNLIKELY(overflowed_.load(std::memory_order_relaxed) != 0) ||
        LCI_UNLIKELY(!items_.push(status, [&] { asleep = sleepers_.notice(); })))
      asleep = overflow(status);
    if (LCI_UNLIKELY(asleep)) sleepers_.wake();
  }
  bool pop(status_t& out) {
    return items_.pop(out) || (LCI_UNLIKELY(overflowed_.load(std::memory_order_relaxed) != 0) && pop_overflow(out));
  }
  size_t pop_many(status_t* out, size_t max) {
    size_t n = 0;
    while (n < max) {
      if (const size_t k = items_.pop_many(out + n, max - n)) {
        n += k;
      } else if (LCI_UNLIKELY(overflowed_.load(std::memory_order_relaxed) != 0) && pop_overflow(out[n])) {
        ++n;
      } else {
        break;
      }
    }
    return n;
  }
  void sleep(int64_t timeout_ns) {
    sleepers_.sleep([this] { return items_.idle() && overflowed_.load(std::memory_order_seq_cst) == 0; }, timeout_ns);
  }

 private:
  // Returns true if there is a sleeper to wake.
  LCI_COLD bool overflow(const status_t& status) {
    std::lock_guard guard(lock_);
    insist_on_memory([&] { overflow_.push_back(status); });
    overflowed_.fetch_add(1, std::memory_order_seq_cst);  // the claim that parking.hpp requires
    return sleepers_.notice();
  }
  LCI_COLD bool pop_overflow(status_t& out) {
    std::lock_guard guard(lock_);
    // Of one signaller, the statuses in the ring are older than those in the list.
    if (!items_.idle() || overflow_.empty()) return false;
    out = overflow_.front();
    overflow_.pop_front();
    overflowed_.fetch_sub(1, std::memory_order_relaxed);
    return true;
  }

  bounded_queue<status_t> items_;
  spinlock lock_;
  std::atomic<size_t> overflowed_{0};  // changes under lock_
  std::deque<status_t> overflow_;      // under lock_
};

/// Calls `f` with the queue as its concrete type: cheaper than a virtual function for the default type.
template <class F>
LCI_ALWAYS_INLINE inline decltype(auto) with_queue_kind(completion_queue& q, F f) {
  if (LCI_LIKELY(q.attr.cq_type == attr_cq_type_t::lcrq)) return f(static_cast<unbounded_queue&>(q));
  if (q.attr.cq_type == attr_cq_type_t::array_atomic) return f(static_cast<ring_queue&>(q));
  return f(static_cast<fifo_queue&>(q));
}

inline bool completion_queue::pop(status_t& out) {
  return with_queue_kind(*this, [&](auto& q) { return q.pop(out); });
}

inline status_t completion_queue::pop() {
  if (LCI_LIKELY(attr.cq_type == attr_cq_type_t::lcrq)) return static_cast<unbounded_queue*>(this)->pop();
  status_t status(errorcode_t::retry);
  pop(status);
  return status;
}

inline size_t completion_queue::pop_many(status_t* out, size_t max) {
  return with_queue_kind(*this, [&](auto& q) { return q.pop_many(out, max); });
}

inline void completion_queue::sleep(int64_t timeout_ns) {
  with_queue_kind(*this, [&](auto& q) { q.sleep(timeout_ns); });
}

inline completion_queue* make_queue(const comp_attr_t& attr) {
  switch (attr.cq_type) {
    case attr_cq_type_t::array_atomic:
      return new ring_queue(attr);
    case attr_cq_type_t::lcrq:
      return new unbounded_queue(attr);
    case attr_cq_type_t::fifo:
      return new fifo_queue(attr);
  }
  return nullptr;  // not reached: alloc_cq rejects other values
}

}  // namespace lci::core
