// A context: a queue of operations that have completed, and whose callbacks NA_Trigger() runs; and the sleep of those
// who wait for them.
#pragma once

#include <na.h>

#include <atomic>
#include <cstdint>
#include <mutex>

#include "lci.hpp"
#include "lib/concurrent/parking.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "lib/layers/na/operation.hpp"

namespace na {

/// Threads that sleep until another one changes something. Thread-safe.
///
/// No wake-up is lost: a sleeper counts itself (S1), then looks whether there is something to do (S2); who changes
/// something does so (S3), then reads the count (S4). All four are sequentially consistent, so either the sleeper sees
/// the change, or it is seen and woken. S2 and S3 are the caller's.
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

/// Owned by the program. Thread-safe. As a completion object of the core it is signalled with the operation as
/// user_context.
struct na_context final : lci::comp_impl_t {
  static constexpr uint64_t alive = 0x6e615f636f6e7478;  // "na_contx"

  explicit na_context(na_class_t* of);
  ~na_context() override;

  /// Adds an operation that has completed, and wakes who waits for it.
  void signal(lci::status_t status) override;
  /// Takes one, or null.
  na::operation* pop();
  bool any() const { return n_.load(std::memory_order_seq_cst) != 0; }
  /// A callback has run: whoever waits looks again.
  void end_round();
  lci::comp_t comp() { return lci::comp_t(this); }

  uint64_t magic = alive;
  na_class_t* const owner;
  const uint64_t serial;             // no other context of the process ever has it; not 0
  std::atomic<uint64_t> rounds{0};   // of callbacks
  na::sleepers followers;            // who make no progress
  std::atomic<bool> leading{false};  // a thread that waits for this context makes progress
  lci::comp_t leader_s;              // the counter that it waits for

 private:
  lci::spinlock lock_;  // of the list
  na::operation* first_ = nullptr;
  na::operation* last_ = nullptr;
  std::atomic<uint32_t> n_{0};
  std::atomic<int> signalling_{0};  // threads in signal()
};

namespace na {

inline bool valid(const na_class_t* c, const na_context_t* x) {
  return x != nullptr && x->magic == na_context_t::alive && x->owner == c;
}

}  // namespace na
