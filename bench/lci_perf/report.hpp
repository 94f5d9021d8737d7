// Statistics of the rounds, as a table or as JSON.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/lci_perf/options.hpp"

namespace lci_perf {

/// Prints results as they come. Used by one thread of rank 0.
class reporter {
 public:
  /// `notes` are lines of the table's header: what is sent, how it arrives, where threads run.
  reporter(const options& o, int ranks, const std::vector<std::string>& notes);
  /// One result: a figure from each round. `limits`, if not empty, is what the machine allows, measured
  /// right before each: the ratio is taken of these two.
  void add(size_t size, std::vector<double> figures, std::vector<double> limits = {}) const;

 private:
  const options& options_;
  int ranks_;
};

/// ns, msg/s or MB/s.
const char* unit_of(metric_kind m);

/// A round's figure in unit_of(m): `messages` of `size` bytes each took `seconds`. Latency and
/// handoff: `messages` counts one way only, and as many went back.
double figure_of(metric_kind m, double seconds, double messages, size_t size);

}  // namespace lci_perf
