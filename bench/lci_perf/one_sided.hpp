// Puts, also strided ones, gets and atomics on shared memory of the other rank, and the barrier.
#pragma once

#include "bench/lci_perf/options.hpp"

namespace lci_perf {

/// Runs `lci_perf put|get|atomic|putsignal|strided|barrier METRIC` on one rank or two. Rank 0 measures.
void run_one_sided(const options& o, int ranks, int rank);

}  // namespace lci_perf
