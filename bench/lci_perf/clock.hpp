// The one clock of all measurements.
#pragma once

#include <chrono>

namespace lci_perf {

inline double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace lci_perf
