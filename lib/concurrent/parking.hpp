// Sleeping until another thread publishes an item. Costs that thread one load while no thread sleeps.
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstdint>
#include <mutex>

#include "lib/base/cpu.hpp"

namespace lci {

/// Where a thread sleeps for more than one reason, for example in a network: the wake-up of an object that it waits for
/// is one of them. See sleep_in(). Thread-safe.
class sleeping_place {
 public:
  /// Sleeps until an event of the place or wake(), at most `timeout_ns` (negative: for ever). May return early.
  virtual void sleep(int64_t timeout_ns) = 0;
  /// Ends the sleep of the thread, or its next one.
  virtual void wake() = 0;

 protected:
  ~sleeping_place() = default;
};

/// The threads of this library that sleep in places, by the word that they would otherwise sleep on. Thread-safe.
///
/// No wake-up is lost. The sleeper adds its entry, increments the count (P), and then compares the word. The waker
/// changes the word, and then reads the count by a read-modify-write (P). If the sleeper's access to the count comes
/// first, the waker reads at least 1 and finds the entry. If the waker's comes first, the sleeper's synchronizes with
/// it, so the sleeper sees the changed word and does not sleep. The entry is on the sleeper's stack; the sleeper
/// removes it under the lock, under which the waker uses it.
class placed_sleepers {
 public:
  void sleep(const void* word, uint32_t expected, int64_t timeout_ns, sleeping_place& place) {
    entry mine{word, &place, nullptr};
    {
      std::lock_guard guard(mutex_);
      mine.next = first_;
      first_ = &mine;
    }
    count_.fetch_add(1, std::memory_order_acq_rel);  // P
    if (__atomic_load_n(static_cast<const uint32_t*>(word), __ATOMIC_ACQUIRE) == expected) place.sleep(timeout_ns);
    count_.fetch_sub(1, std::memory_order_relaxed);
    std::lock_guard guard(mutex_);
    entry** at = &first_;
    while (*at != &mine) at = &(*at)->next;
    *at = mine.next;
  }
  /// Reads no memory of the program: see os_futex.
  void wake(const void* word) {
    if (LCI_LIKELY(count_.fetch_add(0, std::memory_order_acq_rel) == 0)) return;  // P
    std::lock_guard guard(mutex_);
    for (entry* e = first_; e != nullptr; e = e->next)
      if (e->word == word) e->place->wake();
  }

 private:
  struct entry {
    const void* word;
    sleeping_place* place;
    entry* next;
  };
  std::atomic<uint32_t> count_{0};
  std::mutex mutex_;
  entry* first_ = nullptr;  // under mutex_
};

inline placed_sleepers all_placed_sleepers;
constinit inline thread_local sleeping_place* tls_sleeping_place = nullptr;

/// Calls `f`, in which this thread's sleeps on words, if any, become sleeps in `place`.
template <class F>
void sleep_in(sleeping_place& place, F f) {
  struct scope {
    explicit scope(sleeping_place& p) { tls_sleeping_place = &p; }
    ~scope() { tls_sleeping_place = nullptr; }
  } const here(place);
  f();
}

/// The kernel's futex. wake() touches no memory of the program, so it may be called after the object that contains
/// the word has been freed; sleepers must therefore expect spurious wake-ups.
struct os_futex {
  /// Sleeps while the 32-bit word is `expected`, at most `timeout_ns` (negative: for ever). May
  /// return early.
  static void wait(const void* word, uint32_t expected, int64_t timeout_ns) {
    if (LCI_UNLIKELY(tls_sleeping_place != nullptr))
      all_placed_sleepers.sleep(word, expected, timeout_ns, *tls_sleeping_place);
    else
      wait_here(word, expected, timeout_ns);
  }
  static void wake(const void* word, int n) {
    wake_here(word, n);
    all_placed_sleepers.wake(word);
  }
  static void wake_all(const void* word) { wake(word, INT_MAX); }

  /// The same for a word on which no thread sleeps in a place.
  static void wait_here(const void* word, uint32_t expected, int64_t timeout_ns) {
    timespec t{timeout_ns / 1000000000, static_cast<long>(timeout_ns % 1000000000)};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, expected, timeout_ns < 0 ? nullptr : &t, nullptr, 0);
  }
  static void wake_here(const void* word, int n) {
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, nullptr, nullptr, 0);
  }
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
  /// Called by a producer between its claim and the publication. Returns true if wake() has to follow.
  bool notice() {
    if (LCI_LIKELY(sleepers_.load(std::memory_order_seq_cst) == 0)) return false;  // S4
    epoch_.fetch_add(1, std::memory_order_release);                                // R1: pairs with A1 in sleep()
    return true;
  }
  /// Wakes one sleeper, for one item: a sleeper must check the structure again whenever sleep() returns.
  void wake() { Futex::wake(&epoch_, 1); }
  /// Wakes all sleepers. For an item that only some of them can use, since wake() might choose another one.
  void wake_all() { Futex::wake_all(&epoch_); }

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
