// What stands before the completion object of an operation that can be cancelled.
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
#include "lib/core/wire/wire.hpp"

namespace lci::core {

class device;
class matching_engine;
class runtime;
class ticket_pool;

/// Of one operation that was posted with a name or a deadline; its completion object as far as the
/// core is concerned. It tells the user's object once: when the operation ends, or before that, if a
/// cancel comes while nobody is about the user's memory. The operation itself goes on to its end in
/// that case, so that its peer's answers find it, and only then are it and the ticket used again.
///
/// Whoever is about the user's memory holds the ticket. It is held when it is made; what is held can
/// only stop where somebody looks for that (stop()), or be taken out of a matching engine.
///
/// Thread-safe: all that changes does so under `lock_`, which is held for a few instructions and under
/// which nothing is called but `timers`. So whichever of end, cancel and deadline comes first has it,
/// the others see that they are late, and what was written to the user's memory before a let_go() is
/// seen by whoever tells the user. Names carry a serial number of 64 bits that a new use changes: a stale
/// one fits never again.
///
/// What a cancel does after it has let go of the lock can meet an operation that is another one by now.
/// So it looks for entries, of the engine or the backlog, whose completion object is this ticket: the
/// operation of such an entry is alive, and of no other ticket.
class ticket final : public comp_impl_t {
 public:
  static constexpr size_t no_timer = ~size_t{0};

  // --- the operation ---

  void signal(status_t status) override;
  /// There is, or will be, no operation that ends. The user's object, unless that was told before.
  comp_impl_t* retire();
  /// False if the user's memory is to be left alone: the operation was cancelled.
  bool hold();
  /// The counterpart of hold(), and of the ticket's making. May tell the user.
  void let_go(device& d);
  /// Whether the operation shall end; if so, that it did is why its end will be told as `cancelled` or
  /// `timed_out` and not as the failure it looks like.
  bool stop();
  /// Where a cancel finds a posted receive.
  void filed_in(matching_engine& engine, matching_entry_key_t key);
  /// What a cancel sends to the receiver of a rendezvous. The rest of the operation's word on the wire.
  void withdrawn_by(const wire::framed<wire::ack_body>& withdrawal);
  wire::framed<wire::ack_body> withdrawal();
  uint64_t wire_word() const { return serial_ << 33; }  // by who has made it

  comp_impl_t* behind() const { return behind_; }  // while the operation is alive

  // --- the post ---

  operation_t name() { return {this, serial_}; }
  /// Cancels the operation after so many seconds, unless it is another one by then.
  void arm(uint64_t serial, double seconds);

  // --- whoever wants it to end ---

  /// False if there is nothing to end any more, or somebody has asked before.
  bool ask(uint64_t serial, errorcode_t why);

  size_t timer_at = no_timer;  // under the lock of the device's timers

 private:
  friend class ticket_pool;
  struct farewell {
    comp_impl_t* comp = nullptr;  // null: nobody is to be told
    status_t status;
  };
  farewell early_farewell();
  void end();
  bool take_out_of(matching_engine& engine, matching_entry_key_t key);

  runtime* rt_ = nullptr;
  ticket_pool* pool_ = nullptr;
  ticket* next_free_ = nullptr;  // the pool's

  spinlock lock_;
  uint64_t serial_ = 1;      // changed when it ends
  device* device_ = nullptr;  // that it was posted to; null if that is gone, or there is no operation
  comp_impl_t* behind_ = nullptr;
  status_t status_;  // what an early end tells
  matching_engine* engine_ = nullptr;
  matching_entry_key_t key_ = 0;
  wire::framed<wire::ack_body> withdrawal_;
  int holders_ = 0;
  errorcode_t asked_ = errorcode_t::done;  // or cancelled, or timed_out
  bool told_ = false;
  bool stopped_ = false;
  bool timed_ = false;
};

/// The ticket of an operation that is `named`.
inline ticket& ticket_of(const operation* op) { return *static_cast<ticket*>(op->comp); }

/// The completion object that the post was given.
inline comp_impl_t* comp_of(const operation* op) {
  return op->named ? ticket_of(op).behind() : op->comp;
}

/// For a deadline that is no number.
[[noreturn]] LCI_COLD void reject_deadline(double seconds);

/// Of a post whose operation is under way.
template <class Args>
void arm_deadline(const Args& a) {
  if (a.operation == nullptr || a.operation->is_empty() || !(a.deadline >= 0)) return;
  const operation_t name = *a.operation;
  static_cast<ticket*>(name.impl)->arm(name.serial, a.deadline);
}

/// Makes tickets, and owns them: names may be looked at as long as it exists. Thread-safe.
class ticket_pool {
 public:
  explicit ticket_pool(runtime& rt) : rt_(rt) {}
  ticket_pool(const ticket_pool&) = delete;
  ticket_pool& operator=(const ticket_pool&) = delete;

  /// A ticket that is held, before `behind`; `status` is what an early end tells, but for the error.
  ticket* get(device& d, comp_impl_t* behind, const status_t& status);
  void put(ticket* t);
  /// Tickets of this device have none from now on.
  void forget(const device* d);

 private:
  // Threads that post at the same time shall not meet here.
  static constexpr size_t n_shards = 8;
  struct alignas(cache_line) shard {
    spinlock lock;
    ticket* free = nullptr;                    // under lock
    std::vector<std::unique_ptr<ticket>> all;  // made here; under lock
  };
  shard& mine() { return shards_[static_cast<size_t>(thread_index()) % n_shards]; }

  runtime& rt_;
  shard shards_[n_shards];
};

}  // namespace lci::core
