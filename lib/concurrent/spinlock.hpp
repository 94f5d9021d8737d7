// Test-and-test-and-set lock of one byte. The fast path of the library only ever tries it.
#pragma once

#include <sched.h>

#include <atomic>

#include "lib/base/cpu.hpp"

namespace lci {

template <template <class> class Atom = std::atomic>
class basic_spinlock {
 public:
  bool try_lock() {
    // Look first: a failed exchange would take the line away from the holder.
    return !held_.load(std::memory_order_relaxed) &&
           !held_.exchange(true, std::memory_order_acquire);  // A1: pairs with R1 in unlock()
  }
  void lock() {
    if (LCI_UNLIKELY(!try_lock())) wait();
  }
  void unlock() { held_.store(false, std::memory_order_release); }  // R1

 private:
  // With more threads than cores the holder may need ours to get on.
  LCI_COLD void wait() {
    for (int i = 1; !try_lock(); ++i) i % 256 ? cpu_pause() : (void)sched_yield();
  }

  Atom<bool> held_{false};
};
using spinlock = basic_spinlock<>;

}  // namespace lci
