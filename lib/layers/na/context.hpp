// A context: a queue of completed operations, whose callbacks NA_Trigger() runs, and the sleep of threads that wait for
// them.
#pragma once

#include <na.h>

#include <atomic>
#include <cstdint>
#include <mutex>

#include "lci.hpp"
#include "lib/base/callback_scope.hpp"
#include "lib/concurrent/parking.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "lib/layers/na/operation.hpp"

namespace na {

/// Threads that sleep until another thread changes a condition. Thread-safe.
///
/// No wake-up is lost: a sleeper increments the count (S1), then checks the condition (S2); a thread that changes the
/// condition does so (S3), then reads the count (S4). All four accesses are sequentially consistent, so either the
/// sleeper sees the change, or the other thread sees the sleeper and wakes it. The callers do S2 and S3.
class sleepers {
 public:
  bool any() const { return n_.load(std::memory_order_seq_cst) != 0; }  // S4
  void wake(int n) {
    epoch_.fetch_add(1, std::memory_order_release);  // E1
    lci::os_futex::wake(&epoch_, n);
  }
  /// Sleeps if `idle()`, at most `ns` nanoseconds; may return early.
  template <class Idle>
  void sleep(Idle idle, int64_t ns) {
    n_.fetch_add(1, std::memory_order_seq_cst);                     // S1
    const uint32_t epoch = epoch_.load(std::memory_order_acquire);  // pairs with E1
    if (idle()) lci::os_futex::wait(&epoch_, epoch, ns);
    n_.fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  std::atomic<uint32_t> n_{0};
  std::atomic<uint32_t> epoch_{0};
};

}  // namespace na

/// The implementation of na_context_t. Owned by the program. Thread-safe. It is a completion object of the core: the
/// core signals it with the operation as user_context.
struct na_context final : lci::comp_impl_t {
  static constexpr uint64_t alive = 0x6e615f636f6e7478;  // "na_contx"

  explicit na_context(na_class_t* of);
  ~na_context() override;

  /// Adds a completed operation and wakes the threads that wait for the context.
  void signal(lci::status_t status) override;
  /// Takes the oldest completed operation; null if there is none.
  na::operation* pop();
  bool any() const { return n_.load(std::memory_order_seq_cst) != 0; }
  /// Wakes waiting threads after a callback has run, so that they check their conditions again.
  void end_round();
  /// Makes the leader, if it waits for this context, check again what it waits for. Returns whether it waits.
  bool wake_leader();
  lci::comp_t comp() { return lci::comp_t(this); }

  uint64_t magic = alive;
  na_class_t* const owner;
  const uint64_t serial;             // unique in the process, never 0
  std::atomic<uint64_t> rounds{0};   // number of callbacks that have run
  std::atomic<int> triggering{0};    // threads in NA_Trigger()
  na::sleepers followers;            // threads that wait while another thread is the leader
  std::atomic<bool> leading{false};  // the leader waits for this context
  lci::comp_t leader_s;              // the counter on which the leader sleeps

 private:
  lci::spinlock lock_;  // guards the list
  na::operation* first_ = nullptr;
  na::operation* last_ = nullptr;
  std::atomic<uint32_t> n_{0};
  std::atomic<int> signalling_{0};  // threads in signal()
};

namespace na {

using callback_scope = lci::callback_scope<na_context>;

/// Counts the calling thread among those in NA_Trigger() of a context. A program may learn from a callback that it can
/// destroy the context, and the thread uses the context after the callback, too: so the end is its last access.
class trigger_scope {
 public:
  explicit trigger_scope(na_context& in) : in_(in) { in.triggering.fetch_add(1, std::memory_order_relaxed); }
  ~trigger_scope() { in_.triggering.fetch_sub(1, std::memory_order_release); }  // D1: pairs with D2
  trigger_scope(const trigger_scope&) = delete;
  trigger_scope& operator=(const trigger_scope&) = delete;

 private:
  na_context& in_;
};

inline bool valid(const na_class_t* c, const na_context_t* x) {
  return x != nullptr && x->magic == na_context_t::alive && x->owner == c;
}

}  // namespace na
