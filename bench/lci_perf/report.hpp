// Statistics of the rounds, as a table, as JSON or as CSV.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/lci_perf/options.hpp"
#include "bench/lci_perf/ticks.hpp"

namespace lci_perf {

/// What was measured with one size.
struct result {
  size_t size = 0;
  std::vector<double> figures;      ///< one of each round
  std::vector<double> limits;       ///< if not empty: what the machine allows, right before each
  std::vector<quantile> quantiles;  ///< if not empty: of single round trips, halved
};

/// Prints results as they come. Used by one thread of rank 0.
class reporter {
 public:
  /// `notes` are lines of the table's header: what is sent, how it arrives, where threads run.
  reporter(const options& o, int ranks, const std::vector<std::string>& notes);
  void add(const result& r);

 private:
  struct field {
    std::string name, value;
    bool is_text;
  };
  std::vector<field> fields_of(const result& r) const;
  void add_row(const result& r) const;

  const options& options_;
  const int ranks_;
  bool has_head_ = false;  // of CSV
};

/// ns, msg/s, op/s or MB/s.
const char* unit_of(const options& o);

/// A round's figure in the metric's unit: `messages` of `size` bytes each took `seconds`. Latency
/// and handoff: `messages` counts one way only, and as many went back.
double figure_of(metric_kind m, double seconds, double messages, size_t size);

}  // namespace lci_perf
