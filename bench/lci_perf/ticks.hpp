// Times of single round trips: the cheapest available clock, and the distribution of the times.
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

/// Calibrated against now_seconds(); takes 20 milliseconds.
double nanoseconds_of_tick();
/// The cost of reading the clock once, which each measured time includes.
double nanoseconds_of_reading();

/// `value` is the time that a given share of all times does not exceed.
struct quantile {
  const char* name;
  double value;
};

/// A histogram whose bins grow in proportion to the times, by 1/128 of them: its size does not depend on their number.
/// Thread-bound.
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
  /// p50, p90, p99, p99.9 and the longest, in multiples of `unit`, the duration of a tick.
  std::vector<quantile> quantiles(double unit) const;

 private:
  static constexpr unsigned mantissa = 7;

  static size_t step_of(uint64_t ticks) {
    if (ticks < (uint64_t{1} << mantissa)) return ticks;
    const unsigned shift = 63 - static_cast<unsigned>(__builtin_clzll(ticks)) - mantissa;
    return (static_cast<size_t>(shift) << mantissa) + (ticks >> shift);
  }
  /// The largest time of a bin.
  static double end_of(size_t step);

  std::vector<uint64_t> counts_;
  uint64_t longest_ = 0;
};

}  // namespace lci_perf
