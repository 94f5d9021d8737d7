#include "lib/base/ticks.hpp"

#include <algorithm>

namespace lci {

namespace {

#if defined(__x86_64__) || defined(__i386__)

struct moment {
  uint64_t ticks;
  std::chrono::steady_clock::time_point time;
};

/// Reads both clocks at once. Uses the shortest of a few tries, so that an interruption of the thread in one of them
/// does no harm.
moment now() {
  moment best{};
  uint64_t least = ~uint64_t{0};
  for (int i = 0; i < 4; ++i) {
    const uint64_t before = cpu_ticks();
    const auto time = std::chrono::steady_clock::now();
    const uint64_t took = cpu_ticks() - before;
    if (took >= least) continue;
    least = took;
    best = {before + took / 2, time};
  }
  return best;
}

/// Measured, since no instruction returns the rate on every processor and under every hypervisor.
double measured_ticks_per_ns() {
  const moment begin = now();
  moment end;
  do end = now();
  while (end.time - begin.time < std::chrono::microseconds(20));
  const std::chrono::duration<double, std::nano> passed = end.time - begin.time;
  return static_cast<double>(end.ticks - begin.ticks) / passed.count();
}

#elif defined(__aarch64__)

double measured_ticks_per_ns() {
  uint64_t per_second;
  asm volatile("mrs %0, cntfrq_el0" : "=r"(per_second));
  return static_cast<double>(per_second) / 1e9;
}

#else

double measured_ticks_per_ns() { return 1; }

#endif

}  // namespace

uint64_t ticks_in(std::chrono::nanoseconds time) {
  static const double per_ns = measured_ticks_per_ns();
  return std::max<uint64_t>(1, static_cast<uint64_t>(per_ns * static_cast<double>(time.count()) + 0.5));
}

}  // namespace lci
