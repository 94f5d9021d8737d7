// Test-and-test-and-set lock of one byte. The fast path of the library only calls try_lock().
//
// In a process with one thread it is taken by a plain store: a locked instruction would cost more than
// what most locks protect. This is sound: the C library reports a single thread (__libc_single_threaded, which
// libstdc++ uses too) until this thread creates a second one, which can't happen between load and store; the
// new thread sees a lock that is held by then, since thread creation synchronizes with it. For
// memory of one process only.
#pragma once

#include <sched.h>
#if __has_include(<sys/single_threaded.h>)
#include <sys/single_threaded.h>
#define LCI_KNOWS_SINGLE_THREAD
#endif

#include <atomic>
#include <type_traits>

#include "lib/base/cpu.hpp"

namespace lci {

/// Returns whether the process has one thread. False if that is unknown, and for the threads of a model, which the C
/// library does not know.
template <template <class> class Atom>
bool process_has_one_thread() {
#ifdef LCI_KNOWS_SINGLE_THREAD
  if constexpr (std::is_same_v<Atom<bool>, std::atomic<bool>>) return __libc_single_threaded != 0;
#endif
  return false;
}

template <template <class> class Atom = std::atomic>
class basic_spinlock {
 public:
  bool try_lock() {
    // Load first: a failed exchange would take the cache line away from the holder.
    if (held_.load(std::memory_order_relaxed)) return false;
    if (process_has_one_thread<Atom>()) {
      held_.store(true, std::memory_order_relaxed);
      return true;
    }
    return !held_.exchange(true, std::memory_order_acquire);  // A1: pairs with R1 in unlock()
  }
  void lock() {
    if (LCI_UNLIKELY(!try_lock())) wait();
  }
  void unlock() { held_.store(false, std::memory_order_release); }  // R1
  /// For sections that call nothing which might create a thread. Returns false, without effect, in a process with one
  /// thread: then the section must not call unlock().
  bool lock_unless_alone() {
    if (LCI_LIKELY(process_has_one_thread<Atom>())) return false;
    lock();
    return true;
  }

 private:
  // Yields: with more threads than cores the holder may need this core.
  LCI_COLD void wait() {
    for (int i = 1; !try_lock(); ++i) i % 256 ? cpu_pause() : (void)sched_yield();
  }

  Atom<bool> held_{false};
};
using spinlock = basic_spinlock<>;

}  // namespace lci
