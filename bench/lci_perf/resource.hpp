// The cost of LCI's resources, and of what plain programs use in their place, by the number of threads.
#pragma once

#include "bench/lci_perf/options.hpp"

namespace lci_perf {

/// Runs `lci_perf resource METRIC`: threads of one process use one object.
void run_resource(const options& o);

}  // namespace lci_perf
