#include "bench/peers/report.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "bench/lci_perf/report.hpp"
#include "bench/lci_perf/spread.hpp"

namespace peers {

void report(const program& who, const options& o, size_t size, const std::vector<double>& figures) {
  const lci_perf::spread all(figures);
  const char* const unit = lci_perf::unit_of(o);
  if (!o.json) {
    std::printf("%s %s %s, %zu bytes: %.6g [%.6g-%.6g] %s\n", who.name, lci_perf::name_of(o.op),
                lci_perf::name_of(o.metric), size, all.median, all.min, all.max, unit);
  } else {
    const nlohmann::ordered_json line = {{"library", who.name},
                                         {"op", lci_perf::name_of(o.op)},
                                         {"metric", lci_perf::name_of(o.metric)},
                                         {"size", size},
                                         {"threads", o.threads},
                                         {"devices", o.dedicated ? "dedicated" : "shared"},
                                         {"unit", unit},
                                         {"median", all.median},
                                         {"min", all.min},
                                         {"max", all.max},
                                         {"rounds", figures.size()},
                                         {"ranks", o.ranks},
                                         {"window", o.window},
                                         {"bind", lci_perf::name_of(o.bind)},
                                         {"thread_safe", o.thread_safe || o.threads > 1 || o.ranks == 1}};
    std::printf("%s\n", line.dump().c_str());
  }
  std::fflush(stdout);
}

}  // namespace peers
