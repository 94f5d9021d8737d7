// Reports statistics of rounds as a table, JSON or CSV.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/lci_perf/options.hpp"
#include "bench/lci_perf/ticks.hpp"

namespace lci_perf {

/// The measurements with one message size.
struct result {
  size_t size = 0;
  std::vector<double> figures;      ///< one per round
  std::vector<double> limits;       ///< if not empty: the machine's limit, measured before each round
  std::vector<quantile> quantiles;  ///< if not empty: quantiles of single round trips, halved
};

/// Prints each result when it is added. Used by one thread of rank 0.
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
  bool has_head_ = false;  // the CSV header was printed
};

/// ns, msg/s, op/s or MB/s.
const char* unit_of(const options& o);

/// Converts a round's duration to the metric's unit: `messages` of `size` bytes each took `seconds`. For latency and
/// handoff, `messages` counts one direction only; as many were sent back.
double figure_of(metric_kind m, double seconds, double messages, size_t size);

}  // namespace lci_perf
