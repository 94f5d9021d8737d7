// The clock used by all measurements, except for single round trips (ticks.hpp).
#pragma once

#include <chrono>

namespace lci_perf {

inline double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace lci_perf
