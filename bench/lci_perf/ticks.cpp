#include "bench/lci_perf/ticks.hpp"

#include <algorithm>
#include <cmath>

#include "bench/lci_perf/clock.hpp"

namespace lci_perf {

double nanoseconds_of_tick() {
  const double start = now_seconds();
  const uint64_t first = ticks_now();
  double now = start;
  while (now < start + 0.02) now = now_seconds();
  return (now - start) * 1e9 / static_cast<double>(ticks_now() - first);
}

double nanoseconds_of_reading() {
  constexpr int count = 100000;
  const double start = now_seconds();
  uint64_t sum = 0;
  for (int i = 0; i < count; ++i) sum += ticks_now();
  asm volatile("" : : "r"(sum));
  return (now_seconds() - start) * 1e9 / count;
}

void tick_log::add(const tick_log& other) {
  for (size_t i = 0; i < counts_.size(); ++i) counts_[i] += other.counts_[i];
  longest_ = std::max(longest_, other.longest_);
}

double tick_log::end_of(size_t step) {
  if (step < (size_t{2} << mantissa)) return static_cast<double>(step);
  const size_t shift = (step >> mantissa) - 1;
  const size_t top = step - (shift << mantissa) + 1;
  return std::ldexp(static_cast<double>(top), static_cast<int>(shift)) - 1;
}

std::vector<quantile> tick_log::quantiles(double unit) const {
  uint64_t all = 0;
  for (const uint64_t n : counts_) all += n;
  std::vector<quantile> out;
  for (const auto& [name, part] :
       {std::pair("p50", 0.5), std::pair("p90", 0.9), std::pair("p99", 0.99), std::pair("p99.9", 0.999)}) {
    const auto wanted = static_cast<uint64_t>(std::ceil(static_cast<double>(all) * part));
    uint64_t below = 0;
    size_t step = 0;
    while (step + 1 < counts_.size() && (below += counts_[step]) < wanted) ++step;
    out.push_back({name, std::min(end_of(step), static_cast<double>(longest_)) * unit});
  }
  out.push_back({"longest", static_cast<double>(longest_) * unit});
  return out;
}

}  // namespace lci_perf
