// Test-and-test-and-set lock of one byte. The fast path of the library only ever tries it.
//
// In a process that has one thread it is taken by a plain store: a locked instruction would cost more than
// what most locks protect. Soundness: the C library says so (__libc_single_threaded, as libstdc++ asks it)
// until a second thread is made, by this thread, outside of the few instructions between load and store; a
// lock that is held by then is seen held by the new thread, since its creation synchronizes with it. For
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

template <template <class> class Atom = std::atomic>
class basic_spinlock {
 public:
  bool try_lock() {
    // Look first: a failed exchange would take the line away from the holder.
    if (held_.load(std::memory_order_relaxed)) return false;
    if (is_alone()) {
      held_.store(true, std::memory_order_relaxed);
      return true;
    }
    return !held_.exchange(true, std::memory_order_acquire);  // A1: pairs with R1 in unlock()
  }
  void lock() {
    if (LCI_UNLIKELY(!try_lock())) wait();
  }
  void unlock() { held_.store(false, std::memory_order_release); }  // R1

 private:
  static bool is_alone() {
#ifdef LCI_KNOWS_SINGLE_THREAD
    // A model's threads are none of the C library's.
    if constexpr (std::is_same_v<Atom<bool>, std::atomic<bool>>) return __libc_single_threaded != 0;
#endif
    return false;
  }
  // With more threads than cores the holder may need ours to get on.
  LCI_COLD void wait() {
    for (int i = 1; !try_lock(); ++i) i % 256 ? cpu_pause() : (void)sched_yield();
  }

  Atom<bool> held_{false};
};
using spinlock = basic_spinlock<>;

}  // namespace lci
