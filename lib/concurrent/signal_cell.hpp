// Hands one value at a time from signallers to testers: a synchronizer of threshold 1.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <string>

#include "lci/errors.hpp"
#include "lib/base/cpu.hpp"
#include "lib/concurrent/parking.hpp"
#include "lib/concurrent/spinlock.hpp"

namespace lci {

/// More untested signals than this are an error of the program. To bound the memory, the next signal is dropped
/// and throws.
constexpr size_t max_early_signals = 65536;
[[noreturn]] LCI_COLD inline void too_many_signals(size_t threshold) {
  throw resource_error(
      "a synchronizer of threshold " + std::to_string(threshold) + " was signalled " +
      std::to_string(max_early_signals) +
      " times more than sync_test() or sync_wait() have asked for: this signal is dropped; test it more "
      "often, or use a completion queue or a counter");
}

/// Thread-safe. put() fills the cell, take() empties it. The value of a put() to a full cell is stored for the
/// next round: no value is lost and no put() waits, up to max_early_signals.
///
/// All state is in one word, which is also the futex:
///   empty -> claimed (a signaller writes) -> ready -> claimed (a tester reads) -> empty
/// `asleep` may be added to empty and is carried through the signaller's `claimed`; `extra` may be
/// added to ready and means that values of later rounds are in a list under a lock.
///
/// Memory orders. R1/A1: the value is written before ready is stored and read after ready was
/// seen. R2/A2: the value has been read before the next signaller claims the cell. In `claimed` only the
/// thread that set it changes the word, so plain stores end that state.
///
/// A signaller touches no memory after R1, except under the lock, which a tester of the value must
/// take as well: so a thread that has taken the last value may destroy the cell.
///
/// No wake-up is lost: a sleeper changes empty to asleep, or finds it so, and the kernel compares
/// again. The signaller that claims the cell reads `asleep` from the same word.
///
/// In a process with one thread put() and take() don't claim the cell, which saves the locked instructions: the first
/// other thread can't be created in between, and synchronizes with its creation (as in spinlock.hpp).
template <class T, template <class> class Atom = std::atomic, class Futex = os_futex>
class signal_cell {
 public:
  void put(const T& value) {
    put_by([&value](T& to) { to = value; });
  }
  /// The same; `write(T&)` writes the value. It may be called twice.
  template <class Write>
  LCI_ALWAYS_INLINE void put_by(Write write) {
    if (LCI_LIKELY(try_put_by(write))) return;
    T value;
    write(value);
    put_otherwise(value);
  }
  /// The same, without calls. Returns false if the cell is not empty, or a thread sleeps: then nothing was put.
  template <class Write>
  LCI_ALWAYS_INLINE bool try_put_by(Write write) {
    uint32_t s = empty;
    if (LCI_UNLIKELY(state_.load(std::memory_order_relaxed) != s)) return false;
    if (!is_alone() && LCI_UNLIKELY(!state_.compare_exchange_strong(
                           s, claimed, std::memory_order_acquire,  // A2: pairs with R2 in take()
                           std::memory_order_relaxed)))
      return false;
    write(value_);
    state_.store(ready, std::memory_order_release);  // R1: pairs with A1 in take()
    return true;
  }

  bool is_ready() const { return state_.load(std::memory_order_acquire) & ready; }

  /// Takes the value if there is one; `out` may be null.
  LCI_ALWAYS_INLINE bool take(T* out) {
    uint32_t s = state_.load(std::memory_order_relaxed);
    if (!(s & ready)) return false;
    if (LCI_UNLIKELY(s != ready) ||
        (!is_alone() && LCI_UNLIKELY(!state_.compare_exchange_strong(
                            s, claimed, std::memory_order_acquire,  // A1: pairs with R1 in put()
                            std::memory_order_relaxed))))
      return take_otherwise(out);
    if (out) *out = value_;
    state_.store(empty, std::memory_order_release);  // R2: pairs with A2 in put()
    return true;
  }

  /// Sleeps until something may have changed, at most `timeout_ns` (negative: for ever).
  void sleep(int64_t timeout_ns) {
    uint32_t s = state_.load(std::memory_order_relaxed);
    if (s & ready) return;
    if (s & claimed) return cpu_pause();  // `claimed` is too short for a sleep
    if (s == empty && !state_.compare_exchange_strong(s, asleep, std::memory_order_relaxed, std::memory_order_relaxed))
      return;
    Futex::wait(&state_, asleep, timeout_ns);
  }

 private:
  static constexpr uint32_t empty = 0, claimed = 1, ready = 2, asleep = 4, extra = 8;

  /// Returns whether no other thread can use the cell: then nobody needs to find it claimed.
  static bool is_alone() { return process_has_one_thread<Atom>(); }

  // Loops around the common cases, which are inline.
  LCI_NOINLINE void put_otherwise(const T& value) {
    uint32_t s = state_.load(std::memory_order_relaxed);
    for (;;) {
      if (s & (claimed | ready)) {
        if (put_early(value)) return;
        s = state_.load(std::memory_order_relaxed);
      } else if (state_.compare_exchange_weak(s, s | claimed, std::memory_order_acquire,  // A2: pairs with R2 in take()
                                              std::memory_order_relaxed)) {
        break;
      }
    }
    value_ = value;
    state_.store(ready, std::memory_order_release);  // R1: pairs with A1 in take()
    if (s & asleep) Futex::wake_all(&state_);
  }
  LCI_NOINLINE bool take_otherwise(T* out) {
    uint32_t s = state_.load(std::memory_order_relaxed);
    while (s & ready) {
      if (s & extra) {
        if (take_and_refill(out)) return true;
        s = state_.load(std::memory_order_relaxed);
      } else if (state_.compare_exchange_weak(s, claimed, std::memory_order_acquire,  // A1: pairs with R1 in put()
                                              std::memory_order_relaxed)) {
        if (out) *out = value_;
        state_.store(empty, std::memory_order_release);  // R2: pairs with A2 in put()
        return true;
      }
    }
    return false;
  }

  // Returns false if the cell has become empty: then put() claims it.
  LCI_COLD bool put_early(const T& value) {
    std::lock_guard guard(lock_);
    for (;;) {
      uint32_t s = state_.load(std::memory_order_relaxed);
      if (s & claimed) {
        cpu_pause();
      } else if (!(s & ready)) {
        return false;
      } else {
        if (early_.size() == max_early_signals) too_many_signals(1);
        early_.push_back(value);  // before `extra`, which means that there is one; may throw
        // With `extra` set, only holders of the lock change the word.
        if ((s & extra) ||
            state_.compare_exchange_weak(s, ready | extra, std::memory_order_relaxed, std::memory_order_relaxed))
          return true;
        early_.pop_back();
      }
    }
  }

  // Returns false if another tester was faster.
  LCI_COLD bool take_and_refill(T* out) {
    std::lock_guard guard(lock_);
    if (state_.load(std::memory_order_acquire) != (ready | extra)) return false;  // A1
    if (out) *out = value_;
    value_ = early_.front();
    early_.pop_front();
    state_.store(early_.empty() ? ready : ready | extra, std::memory_order_release);  // R1
    return true;
  }

  Atom<uint32_t> state_{empty};
  basic_spinlock<Atom> lock_;
  T value_;
  std::deque<T> early_;  // under lock_
};

}  // namespace lci
