// The completion object of an operation that can be cancelled: it forwards to the user's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "lci/completion.hpp"
#include "lci/operations.hpp"
#include "lib/base/cpu.hpp"
#include "lib/base/thread_index.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "lib/core/operation/operation.hpp"
#include "lib/core/operation/timers.hpp"
#include "lib/core/wire/wire.hpp"

namespace lci::core {

class device;
class matching_engine;
class runtime;
class ticket_pool;

/// The core's completion object of one operation posted with a name or a deadline. It signals the user's object once:
/// when the operation ends, or earlier, if it is cancelled while no thread accesses the user's memory. In the latter
/// case the operation itself continues to its end, so that its peer's answers resolve to it; only then are the
/// operation and the ticket reused. Owned by its ticket_pool.
///
/// A thread that accesses the user's memory holds the ticket (hold(), release()), and so does the post that makes it.
/// An operation whose ticket is held stops only where the core calls stop(), or by removal from a matching engine.
///
/// Thread-safe: every member that changes does so under `lock_`, which is held for a few instructions and under which
/// only `timers` is called. So the first of end, cancel and deadline takes effect, and the others find that the ticket
/// has signalled. The thread that signals the user's object sees what was written to the user's memory before a
/// release(). A name contains a serial number of 64 bits that changes with each use, so a stale name never matches
/// again.
///
/// Once a cancel has released the lock, the operation may end and be reused. So the cancel looks for entries, of the
/// engine or the backlog, whose completion object is this ticket: the operation of such an entry is alive, and has no
/// other ticket.
class ticket final : public comp_impl_t {
 public:
  static constexpr size_t no_timer = ~size_t{0};

  // --- the operation ---

  void signal(status_t status) override;
  /// Ends the ticket of an operation that will never complete. Returns the user's object; null if that has been
  /// signalled.
  comp_impl_t* retire();
  /// Returns false if the operation was cancelled: then the caller must not touch the user's memory.
  bool hold();
  /// Releases the hold taken by hold(), or by get(). Signals the user's object if the operation was cancelled meanwhile
  /// and this was the last hold.
  void release(device& d);
  /// Returns whether the operation was cancelled. If so, the caller fails the operation, and signal() reports that
  /// failure as `cancelled` or `timed_out`.
  bool stop();
  /// Records the engine and key of the posted receive, by which a cancel finds it.
  void filed_in(matching_engine& engine, matching_entry_key_t key);
  /// Sets the message that a cancel sends to the receiver of a rendezvous.
  void withdrawn_by(const wire::framed<wire::ack_body>& withdrawal);
  wire::framed<wire::ack_body> withdrawal();
  /// What an RTS carries beside the operation's handle, to distinguish reuses. To be called by the post only.
  uint64_t wire_word() const { return serial_ << 33; }

  /// Returns whether the operation has a deadline, also before its post has called arm().
  bool has_deadline();

  comp_impl_t* behind() const { return behind_; }  // the user's object; valid while the operation is alive
  void* buffer() const { return status_.buffer; }  // the user's; likewise

  // --- the post ---

  operation_t name() { return {this, serial_}; }
  /// Cancels the operation after `seconds`, unless the ticket has been reused by then.
  void arm(uint64_t serial, double seconds);

  // --- cancel and deadline ---

  /// Cancels the operation with status `why`. Returns false if it has ended, or was cancelled before.
  bool cancel(uint64_t serial, errorcode_t why);

  size_t timer_at = no_timer;  // under the lock of the device's timers

 private:
  friend class ticket_pool;
  struct early_signal {
    comp_impl_t* comp = nullptr;  // null: nothing to signal
    status_t status;
  };
  /// Under lock_: what to signal before the operation ends, once: if it was cancelled and nobody holds the ticket.
  early_signal take_early_signal();
  void end();
  bool take_out_of(matching_engine& engine, matching_entry_key_t key);

  runtime* rt_ = nullptr;
  ticket_pool* pool_ = nullptr;
  ticket* next_free_ = nullptr;  // the pool's
  size_t shard_ = 0;             // index of the pool's shard that has allocated it

  spinlock lock_;
  uint64_t serial_ = 1;       // changed when it ends
  device* device_ = nullptr;  // of the post; null if it has been freed, or there is no operation
  comp_impl_t* behind_ = nullptr;
  status_t status_;  // reported if the operation is cancelled before its end
  matching_engine* engine_ = nullptr;
  matching_entry_key_t key_ = 0;
  wire::framed<wire::ack_body> withdrawal_;
  int holders_ = 0;
  errorcode_t cancelled_as_ = errorcode_t::done;  // once cancelled: cancelled or timed_out
  bool signalled_ = false;  // the user's object has been, or is about to be, signalled before the end
  bool stopped_ = false;
  bool timed_ = false;  // has a deadline; another thread may need to know before the post has armed it
};

/// The ticket of an operation that is `named`.
inline ticket& ticket_of(const operation* op) { return *static_cast<ticket*>(op->comp); }

/// The completion object passed to the post.
inline comp_impl_t* comp_of(const operation* op) { return op->named ? ticket_of(op).behind() : op->comp; }

/// Throws for a deadline that is NaN.
[[noreturn]] LCI_COLD void reject_deadline(double seconds);

/// Starts the timer of a post that was accepted as `posted`. Within the life of a `timers::room`, if the deadline has
/// an end.
template <class Args>
void arm_deadline(const Args& a) {
  if (a.operation == nullptr || a.operation->is_empty() || !timers::has_end(a.deadline)) return;
  const operation_t name = *a.operation;
  static_cast<ticket*>(name.impl)->arm(name.serial, a.deadline);
}

/// Allocates and owns tickets; names can be resolved as long as it exists. Thread-safe.
class ticket_pool {
 public:
  explicit ticket_pool(runtime& rt) : rt_(rt) {}
  ticket_pool(const ticket_pool&) = delete;
  ticket_pool& operator=(const ticket_pool&) = delete;

  /// A held ticket that forwards to `behind`; a cancel before the end reports `status`, except for the error.
  /// `deadline`: as passed to the post, which calls arm() if timers::has_end(deadline).
  ticket* get(device& d, comp_impl_t* behind, const status_t& status, double deadline);
  void put(ticket* t);
  /// Detaches the tickets of a device that is being freed, and stops their timers.
  void forget(const device* d);

 private:
  // Tickets are divided into shards, so that threads that post at the same time do not wait for one lock. A ticket
  // returns to the shard that has allocated it. Otherwise, where one thread posts operations and another one ends them,
  // the poster's shard would never get a ticket back, and allocate without end.
  static constexpr size_t n_shards = 8;
  struct alignas(cache_line) shard {
    spinlock lock;
    ticket* free = nullptr;                    // under lock
    std::vector<std::unique_ptr<ticket>> all;  // allocated by this shard; under lock
  };
  runtime& rt_;
  shard shards_[n_shards];
};

}  // namespace lci::core
