// Sleeping until another thread publishes an item. Costs that thread one load while no thread sleeps.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>

#include "lib/base/cpu.hpp"

namespace lci {

/// The kernel's futex. wake() touches no memory of the program, so it may be called after the object that contains
/// the word has been freed; sleepers must therefore expect spurious wake-ups.
struct os_futex {
  /// Sleeps while the 32-bit word is `expected`, at most `timeout_ns` (negative: for ever). May
  /// return early.
  static void wait(const void* word, uint32_t expected, int64_t timeout_ns) {
    timespec t{timeout_ns / 1000000000, static_cast<long>(timeout_ns % 1000000000)};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, timeout_ns < 0 ? nullptr : &t, nullptr, 0);
  }
  static void wake(const void* word, int n) { syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, nullptr, nullptr, 0); }
  static void wake_all(const void* word) { wake(word, INT_MAX); }
};

/// Sleepers of a lock-free structure whose own words change too often to sleep on. Thread-safe.
///
/// The structure's producers must do three things in this order: a sequentially consistent
/// read-modify-write that claims a place ("claim"), notice(), and, after the item has become
/// visible, wake() if notice() returned true. notice() reads one word that is written only when a thread
/// goes to sleep.
///
/// Why no wake-up is lost: a sleeper first counts itself (S1), then reads the epoch, then checks
/// whether the structure is idle, i.e. whether no claim is pending (S3, sequentially consistent).
/// The claim (S2) and the producer's load of the counter (S4) are sequentially consistent too. In
/// the single order of the four, either S2 comes before S3, and the sleeper sees the claim and
/// stays awake; or S1 before S3 before S2 before S4, and the producer sees the sleeper. Then it
/// changes the epoch: if it does so before the sleeper reads the epoch, S2 comes before S3 after
/// all; if afterwards, the kernel finds the epoch changed or the producer's wake finds the thread
/// asleep.
///
/// notice() is called before the item is visible because the consumer of the item may destroy the
/// structure: afterwards only wake() is called, which touches no memory.
template <template <class> class Atom = std::atomic, class Futex = os_futex>
class event_count {
 public:
  /// Called by a producer between its claim and the publication. True if wake() has to follow.
  bool notice() {
    if (LCI_LIKELY(sleepers_.load(std::memory_order_seq_cst) == 0)) return false;  // S4
    epoch_.fetch_add(1, std::memory_order_release);                                // R1: pairs with A1 in sleep()
    return true;
  }
  /// Wakes one sleeper, for one item: a sleeper must check the structure again whenever sleep() returns.
  void wake() { Futex::wake(&epoch_, 1); }

  /// Sleeps unless `idle()` is false, which must report by a sequentially consistent load whether no claim
  /// is pending. At most `timeout_ns` (negative: for ever); may return early.
  template <class Idle>
  void sleep(Idle idle, int64_t timeout_ns) {
    sleepers_.fetch_add(1, std::memory_order_seq_cst);              // S1
    const uint32_t epoch = epoch_.load(std::memory_order_acquire);  // A1: pairs with R1
    if (idle()) Futex::wait(&epoch_, epoch, timeout_ns);            // S3
    sleepers_.fetch_sub(1, std::memory_order_relaxed);
  }

 private:
  Atom<uint32_t> sleepers_{0};
  Atom<uint32_t> epoch_{0};
};

}  // namespace lci
