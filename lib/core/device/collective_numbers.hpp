// The numbers of a device's collective operations, of which two with the same tags never have messages under way.
#pragma once

#include <cstdint>
#include <deque>
#include <mutex>

#include "lci/operations.hpp"
#include "lib/concurrent/deferred_queue.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "lib/core/operation/dependent.hpp"

namespace lci::core {

/// A collective operation that waits until its number's tags are free: `gate` is the node of its graph that comes
/// before its messages. Owned by the graph.
struct collective_turn : deferred_task {
  collective_turn() : deferred_task(run_gate, true) {}

  uint32_t number = 0;
  comp_impl_t* graph = nullptr;
  graph_node_t gate = nullptr;

 private:
  static bool run_gate(deferred_task* self) {
    graph_node_mark_complete_x(static_cast<collective_turn*>(self)->gate)();
    return true;
  }
};

/// Numbers the collective operations of a device. Owned by the device and by those operations, which may end after it.
/// Thread-safe. An operation has the same number at all ranks, since they begin a device's collective operations in the
/// same order.
///
/// Only operations whose numbers differ by a multiple of `n_distinct` have the same tags. Of two such operations, the
/// later one must not send before the earlier one has ended at this rank; otherwise the peer could match their messages
/// in the wrong order. This class is stricter, so that it only has to count: numbers are divided into windows of
/// n_distinct / 2, and an operation may send when all operations before the previous window have ended.
class collective_numbers {
 public:
  // Shared memory holds fewer messages of a rank than this, so no two of them have the same tag. (The target may read
  // its lanes in another order than the rank's threads have written to them.)
  static constexpr uint32_t n_distinct = 4096;

  explicit collective_numbers(deferred_queue& deferred) : deferred_(deferred) {}

  /// Begins an operation, and returns its number. Throws std::bad_alloc, and has no effect then.
  uint32_t next() {
    std::lock_guard guard(lock_);
    if ((next_ - first_) / window == ended_.size()) ended_.push_back(0);
    return next_++;
  }
  /// Returns the number of an operation that has not begun at this rank.
  void take_back(uint32_t number) {
    {
      std::lock_guard guard(lock_);
      if (next_ == number + 1) {
        next_ = number;
        return;
      }
    }
    end(number);
  }
  /// The number that next() will return.
  uint32_t peek() const {
    std::lock_guard guard(lock_);
    return next_;
  }

  bool may_send(uint32_t number) const {
    std::lock_guard guard(lock_);
    return is_due(number);
  }
  /// Returns true if the operation may send now. Otherwise keeps `turn`, and marks its gate complete when the operation
  /// may send.
  bool may_send_or_wait(collective_turn& turn) {
    std::lock_guard guard(lock_);
    if (is_due(turn.number)) return true;
    turn.next = waiting_;
    waiting_ = &turn;
    return false;
  }
  /// Call when the operation has ended at this rank. Completes the gates of operations that may send now.
  void end(uint32_t number) noexcept {
    deferred_task* due = nullptr;
    {
      std::lock_guard guard(lock_);
      if (!count_end(number) || closed_) return;
      for (deferred_task** at = &waiting_; *at != nullptr;) {
        deferred_task* const t = *at;
        if (is_due(static_cast<collective_turn*>(t)->number)) {
          *at = t->next;
          t->next = due;
          due = t;
        } else {
          at = &t->next;
        }
      }
    }
    while (due != nullptr) {
      deferred_task* const t = due;
      due = t->next;
      deferred_.push(t);
    }
  }

  /// Call when the device is being freed. From then on no gate is marked complete, so operations that wait to send
  /// never do; take_waiting() removes them.
  void close() {
    std::lock_guard guard(lock_);
    closed_ = true;
  }
  /// Call after close(). Removes an operation that waits, and returns what to signal for it: no object if none waits.
  unfinished take_waiting() {
    std::lock_guard guard(lock_);
    if (waiting_ == nullptr) return {nullptr, status_t()};
    const auto* turn = static_cast<collective_turn*>(waiting_);
    waiting_ = waiting_->next;
    status_t status(errorcode_t::cancelled);
    status.user_context = turn->gate;
    return {turn->graph, status};
  }

 private:
  static constexpr uint32_t window = n_distinct / 2;

  // --- under lock_ ---

  bool is_due(uint32_t number) const { return number - first_ < n_distinct; }
  /// Counts the end of an operation. Returns true if all operations of the oldest window have ended.
  bool count_end(uint32_t number) {
    // A number that was taken back may be beyond those that are due.
    ++ended_[(number - first_) / window];
    bool any = false;
    for (; !ended_.empty() && ended_.front() == window; any = true) {
      ended_.pop_front();
      first_ += window;
    }
    return any;
  }

  deferred_queue& deferred_;  // the runtime's
  mutable spinlock lock_;
  uint32_t next_ = 0;
  uint32_t first_ = 0;                // of the oldest window with an operation that has not ended
  std::deque<uint32_t> ended_;        // operations that have ended in each window from the oldest on
  deferred_task* waiting_ = nullptr;  // each a collective_turn
  bool closed_ = false;
};

}  // namespace lci::core
