// A clock cheap enough to be read for each message, accurate enough only to test whether a short time has passed.
#pragma once

#include <chrono>
#include <cstdint>
#if !defined(__x86_64__) && !defined(__i386__) && !defined(__aarch64__)
#include <ctime>
#endif

namespace lci {

/// The processor's time counter where a program may read it, else the system's clock. The length of a tick depends on
/// the processor: ticks_in() converts. Thread-safe. Values that two threads
/// have read may be slightly out of order, so compare only differences, as unsigned numbers.
inline uint64_t cpu_ticks() {
#if defined(__x86_64__) || defined(__i386__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t t;
  asm volatile("mrs %0, cntvct_el0" : "=r"(t));
  return t;
#else
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<uint64_t>(t.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(t.tv_nsec);
#endif
}

/// cpu_ticks() / 16 in 32 bits, for places where 64 bits take too much space. The difference of two values is right if
/// they were read less than some 20 seconds apart.
inline uint32_t short_ticks() { return static_cast<uint32_t>(cpu_ticks() >> 4); }

/// Number of ticks in this time: at least 1, accurate within a few percent. The first call of a
/// process may take about 20 us, to measure. Thread-safe; for constants that are computed once:
///
///     static inline const uint64_t recent = ticks_in(std::chrono::microseconds(8));
uint64_t ticks_in(std::chrono::nanoseconds time);

}  // namespace lci
