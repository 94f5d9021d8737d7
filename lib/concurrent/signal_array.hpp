// Hands n values at a time from signallers to a tester: a synchronizer of threshold n.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>

#include "lib/base/cpu.hpp"
#include "lib/concurrent/parking.hpp"
#include "lib/concurrent/signal_cell.hpp"
#include "lib/concurrent/signal_slots.hpp"
#include "lib/concurrent/spinlock.hpp"

namespace lci {

/// Thread-safe. A fixed array and two counters (paper 4.1.4): `claimed` assigns its slots,
/// `arrived` counts those that are written. take() empties the array when all n have arrived. A
/// put() beyond the n-th is stored for the next round, up to max_early_signals.
///
/// Memory orders. R1/A1: slots are written before their arrival is counted, and read after n
/// arrivals were seen (the increments form one release sequence). R2/A2: slots have been read
/// before those of the next round are assigned. Ending a round and storing later values happen only
/// under the lock: a signaller that drew a number beyond n checks there again whether that
/// round is still current.
///
/// A signaller's last access is its increment of `arrived` (or the lock), so a thread that has seen n
/// arrivals may destroy the array. `arrived` is also the futex, with a bit that is set while a thread
/// may sleep: the signaller that completes the round learns of it by its increment.
template <class T, template <class> class Atom = std::atomic, class Futex = os_futex>
class signal_array {
 public:
  explicit signal_array(size_t n) : n_(static_cast<uint32_t>(n)), slots_(n) {}

  void put(const T& value) {
    for (;;) {
      const uint32_t i = claimed_.fetch_add(1, std::memory_order_acquire);  // A2: pairs with R2
      if (LCI_LIKELY(i < n_)) {
        slots_[i] = value;
        const uint32_t n = n_;
        const uint32_t before = arrived_.fetch_add(1, std::memory_order_release);  // R1
        if (LCI_UNLIKELY(before == (asleep | (n - 1)))) Futex::wake_all(&arrived_);
        return;
      }
      if (put_early(value)) return;
    }
  }

  bool is_ready() const {
    return (arrived_.load(std::memory_order_acquire) & ~asleep) == n_;  // A1: pairs with R1
  }

  /// Takes all n values if they have arrived, in the order in which slots were claimed; `out` may
  /// be null.
  bool take(T* out) {
    if (!is_ready()) return false;
    std::lock_guard guard(lock_);
    if (!is_ready()) return false;  // another tester was faster
    if (out)
      for (uint32_t i = 0; i < n_; ++i) out[i] = slots_[i];
    uint32_t i = 0;
    for (; i < n_ && !early_.empty(); ++i) {
      slots_[i] = early_.front();
      early_.pop_front();
    }
    // The old round's last signaller has woken its sleepers, or will do so.
    arrived_.store(i, std::memory_order_release);  // R1: for the case that i == n
    claimed_.store(i, std::memory_order_release);  // R2: pairs with A2 in put()
    return true;
  }

  /// Sleeps until something may have changed, at most `timeout_ns` (negative: for ever).
  void sleep(int64_t timeout_ns) {
    uint32_t a = arrived_.load(std::memory_order_relaxed);
    if ((a & ~asleep) == n_) return;
    if (!(a & asleep) &&
        !arrived_.compare_exchange_strong(a, a | asleep, std::memory_order_relaxed, std::memory_order_relaxed))
      return;
    Futex::wait(&arrived_, a | asleep, timeout_ns);
  }

 private:
  static constexpr uint32_t asleep = 1u << 31;

  // Returns false if a new round has begun: then put() claims a slot again.
  LCI_COLD bool put_early(const T& value) {
    std::lock_guard guard(lock_);
    if (claimed_.load(std::memory_order_relaxed) < n_) return false;
    if (early_.size() == max_early_signals) too_many_signals(n_);
    early_.push_back(value);
    return true;
  }

  const uint32_t n_;
  Atom<uint32_t> claimed_{0};
  Atom<uint32_t> arrived_{0};
  basic_spinlock<Atom> lock_;
  signal_slots<T> slots_;
  std::deque<T> early_;  // under lock_
};

}  // namespace lci
