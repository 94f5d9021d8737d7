// A counter that signallers increment and that other threads may wait for.
#pragma once

#include <atomic>
#include <cstdint>

#include "lib/base/cpu.hpp"
#include "lib/concurrent/parking.hpp"

namespace lci {

/// Thread-safe. One word: the number (63 bits) above a bit that is set while a thread may sleep, so that
/// a signaller learns of sleepers by the increment itself and touches no memory afterwards: a thread that
/// has seen the increment may destroy the counter. R1/A1: what a signaller did before add_one() is visible
/// to a thread that sees its increment.
///
/// No wake-up is lost: the bit is only cleared together with a change of the number that is
/// followed by waking all. A sleeper that is not yet asleep finds the word changed.
template <template <class> class Atom = std::atomic, class Futex = os_futex>
class signal_counter {
 public:
  static constexpr int64_t largest = (int64_t{1} << 62) - 1, smallest = -largest - 1;

  void add_one() {
    uint64_t w = word_.load(std::memory_order_relaxed);
    if (LCI_LIKELY(!(w & asleep))) {
      w = word_.fetch_add(one, std::memory_order_release);  // R1: pairs with A1 in get()
    } else {
      while (!word_.compare_exchange_weak(w, (w & ~asleep) + one, std::memory_order_release,  // R1
                                          std::memory_order_relaxed)) {
      }
    }
    if (LCI_UNLIKELY(w & asleep)) Futex::wake_all(&word_);
  }

  int64_t get() const {
    // The shift keeps the sign, as C++20 guarantees.
    return static_cast<int64_t>(word_.load(std::memory_order_acquire)) >> 1;  // A1
  }

  /// `value`: from smallest to largest.
  void set(int64_t value) {
    const uint64_t old = word_.exchange(static_cast<uint64_t>(value) << 1, std::memory_order_acq_rel);  // R1, A1
    if (old & asleep) Futex::wake_all(&word_);
  }

  /// If the number is below `target`, sleeps until it may have changed, at most `timeout_ns`
  /// (negative: for ever).
  void sleep(int64_t target, int64_t timeout_ns) {
    uint64_t w = word_.load(std::memory_order_relaxed);
    if ((static_cast<int64_t>(w) >> 1) >= target) return;
    if (!(w & asleep) &&
        !word_.compare_exchange_strong(w, w | asleep, std::memory_order_relaxed, std::memory_order_relaxed))
      return;
    // The kernel compares the lower half, which comes first on little-endian processors.
    Futex::wait(&word_, static_cast<uint32_t>(w | asleep), timeout_ns);
  }

 private:
  static constexpr uint64_t asleep = 1, one = 2;
  static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

  Atom<uint64_t> word_{0};
};

}  // namespace lci
