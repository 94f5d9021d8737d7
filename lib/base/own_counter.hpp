// Counters that have one writer, the thread that owns them; any thread may read them.
#pragma once

#include <atomic>
#include <cstdint>

#include "lci/config.hpp"
#include "lib/base/cpu.hpp"

// ThreadSanitizer sees no accesses by assembly, and so no release either.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define LCI_ADDS_IN_MEMORY
#endif

namespace lci {

/// Adds 1 to a counter that no other thread writes, with relaxed order. fetch_add() would be a locked instruction,
/// which a single writer does not need; from a load and a store compilers make three instructions instead of one.
LCI_ALWAYS_INLINE inline void increment_own(std::atomic<uint64_t>& counter) {
#ifdef LCI_ADDS_IN_MEMORY
  static_assert(sizeof counter == sizeof(uint64_t));
  asm("addq $1, %0" : "+m"(counter) : : "cc");  // stores the word whole, so a reader sees the old or the new value
#else
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
#endif
}

/// The same with release order: a thread that reads the new value with acquire order sees what was written before it.
LCI_ALWAYS_INLINE inline void increment_own_release(std::atomic<uint64_t>& counter) {
#ifdef LCI_ADDS_IN_MEMORY
  compiler_barrier();  // the processor does not reorder stores
  increment_own(counter);
#else
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_release);
#endif
}

#undef LCI_ADDS_IN_MEMORY

}  // namespace lci
