// Counters that one thread increments and others only read.
#pragma once

#include <atomic>
#include <cstdint>

#include "lci/config.hpp"
#include "lib/base/cpu.hpp"

namespace lci {

/// Increments a counter that no other thread writes. Relaxed: orders no other accesses. An atomic increment would be a
/// locked instruction; a load and a store, which compilers do not join, are three instructions instead of one.
LCI_ALWAYS_INLINE inline void increment_own(std::atomic<uint64_t>& counter) {
#if defined(__x86_64__)
  static_assert(sizeof counter == sizeof(uint64_t));
  asm("addq $1, %0" : "+m"(counter) : : "cc");  // stores the word whole, so a reader sees the old or the new value
#else
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
#endif
}

/// The same; whoever reads the new value with acquire sees what the thread wrote before.
LCI_ALWAYS_INLINE inline void increment_own_release(std::atomic<uint64_t>& counter) {
#if defined(__x86_64__)
  compiler_barrier();  // the processor does not reorder stores
  increment_own(counter);
#else
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_release);
#endif
}

}  // namespace lci
