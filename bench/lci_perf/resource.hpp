// A part of LCI by itself, used by several threads.
#pragma once

#include "bench/lci_perf/options.hpp"

namespace lci_perf {

/// Measures o.metric: a completion queue, a matching engine or a packet pool, one for all threads. LCI
/// must have been started, by one rank.
void run_resource(const options& o);

}  // namespace lci_perf
