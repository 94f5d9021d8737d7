// Reading a device's counters and latencies.
#include <string>

#include "generated/core_operations.hpp"
#include "lib/base/check.hpp"
#include "lib/core/device/device.hpp"

namespace lci::core {

namespace {

void require_counters(const char* operation, const device& d) {
  if (d.observer == nullptr || d.observer->counts == nullptr)
    throw_invalid(operation, "device", "one that does not count", "allocated with .counters(true)",
                  "or set LCI_ATTR_COUNTERS=1");
}

}  // namespace

counters_t get_counters(get_counters_args& a) {
  const device& d = *a.device.p_impl;
  require_counters("get_counters", d);
  if (a.rank != ALL_RANKS && static_cast<unsigned>(a.rank) >= static_cast<unsigned>(d.n_peers))
    throw_invalid("get_counters", "rank", std::to_string(a.rank), "ALL_RANKS or 0.." + std::to_string(d.n_peers - 1));
  counters_t result = d.observer->counts->read(a.rank);
  if (a.rank == ALL_RANKS) d.net->add_counts(result);
  return result;
}

histogram_t get_histogram(get_histogram_args& a) {
  const device& d = *a.device.p_impl;
  require_counters("get_histogram", d);
  if (static_cast<unsigned>(a.kind) >= latencies::n_kinds)
    throw_invalid("get_histogram", "kind", std::to_string(static_cast<int>(a.kind)),
                  "am, send, recv, put, get or atomic");
  return d.observer->times->read(static_cast<post_kind>(a.kind), latencies::class_of(a.size));
}

}  // namespace lci::core
