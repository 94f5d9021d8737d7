// Repeats a measurement.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "bench/lci_perf/options.hpp"

namespace lci_perf {

/// Calls `round(n)`, which moves n messages and returns the seconds that took. First warms up: unless o.iterations sets
/// n, doubles it until a round is long enough to choose the final n. Such a round is repeated, since the first ones may
/// take long for other reasons than n: memory is touched for the first time, or another process disturbs them. Then
/// calls `before_measured()`, once, and measures o.rounds rounds. Returns the seconds of the measured rounds, and their
/// n through `messages`. n is a multiple of `step`, and at least that.
template <class Round, class BeforeMeasured>
std::vector<double> measure(const options& o, uint64_t step, uint64_t* messages, Round round,
                            BeforeMeasured before_measured) {
  constexpr int repeats = 2;
  const auto whole = [step](uint64_t n) { return std::max(step, n / step * step); };
  uint64_t n = o.iterations != 0 ? whole(o.iterations) : whole(64);
  if (o.iterations != 0) {
    round(n);
  } else {
    const auto shortest = [&] {
      double seconds = round(n);
      for (int i = 0; i < repeats && seconds >= o.seconds / 4; ++i) seconds = std::min(seconds, round(n));
      return seconds;
    };
    double seconds = shortest();
    while (seconds < o.seconds / 4) {
      n *= 2;
      seconds = shortest();
    }
    n = whole(static_cast<uint64_t>(static_cast<double>(n) * o.seconds / seconds));
  }
  before_measured();
  std::vector<double> out;
  for (int i = 0; i < o.rounds; ++i) out.push_back(round(n));
  *messages = n;
  return out;
}
template <class Round>
std::vector<double> measure(const options& o, uint64_t step, uint64_t* messages, Round round) {
  return measure(o, step, messages, round, [] {});
}

}  // namespace lci_perf
