// Times of single round trips: the cheapest clock there is, and how they are distributed.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#if defined(__x86_64__)
#include <x86intrin.h>
#else
#include <chrono>
#endif

namespace lci_perf {

inline uint64_t ticks_now() {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}

/// Measured against the clock of everything else; takes some milliseconds.
double nanoseconds_of_tick();
/// What it takes to read the clock once: it is part of each time.
double nanoseconds_of_reading();

/// A part of all times, and the time that so many of them do not exceed.
struct quantile {
  const char* name;
  double value;
};

/// A histogram whose steps grow with the times, by 1/128 of them: it needs the same memory for any
/// number. Thread-bound.
class tick_log {
 public:
  bool wanted() const { return !counts_.empty(); }
  void want() { counts_.resize((64 - mantissa + 1) << mantissa); }
  void clear() {
    std::fill(counts_.begin(), counts_.end(), 0);
    longest_ = 0;
  }
  void note(uint64_t ticks) {
    ++counts_[step_of(ticks)];
    if (ticks > longest_) longest_ = ticks;
  }
  void add(const tick_log& other);
  /// p50, p90, p99, p99.9 and the longest, where a tick lasts `unit`.
  std::vector<quantile> quantiles(double unit) const;

 private:
  static constexpr unsigned mantissa = 7;

  static size_t step_of(uint64_t ticks) {
    if (ticks < (uint64_t{1} << mantissa)) return ticks;
    const unsigned shift = 63 - static_cast<unsigned>(__builtin_clzll(ticks)) - mantissa;
    return (static_cast<size_t>(shift) << mantissa) + (ticks >> shift);
  }
  /// The largest time of a step.
  static double end_of(size_t step);

  std::vector<uint64_t> counts_;
  uint64_t longest_ = 0;
};

}  // namespace lci_perf
