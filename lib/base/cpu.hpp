// Helpers for the processor: pause, prefetch, cache line size, branch hints.
#pragma once

#include <cstddef>
#include <cstdint>

namespace lci {

constexpr size_t cache_line = 64;

#define LCI_LIKELY(x) __builtin_expect(!!(x), 1)
#define LCI_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define LCI_NOINLINE __attribute__((noinline))
#define LCI_COLD __attribute__((noinline, cold))

inline void cpu_pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Prefetches a cache line in exclusive state. (The compiler's builtin prefetches only for reading
/// unless compiled for this instruction, which every x86-64 processor accepts.)
inline void prefetch_for_write(const void* p) {
#if defined(__x86_64__)
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(p)));
#else
  __builtin_prefetch(p, 1);
#endif
}

/// Keeps the compiler, not the processor, from moving memory accesses across.
inline void compiler_barrier() { asm volatile("" ::: "memory"); }

/// Makes the compiler load `values` from memory when it uses them after this. For values that a function needs again
/// only after a call: in a register over a call, each costs a store and a load of the register, on every path.
template <class T>
__attribute__((always_inline)) inline void keep_in_memory(T& values) {
  asm("" : "+m"(values));
}

}  // namespace lci
