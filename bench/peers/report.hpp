// Reports the peers' figures in lci_perf's format.
#pragma once

#include <string>
#include <vector>

#include "bench/peers/options.hpp"

namespace peers {

/// Prints one line with the figures of all rounds, as JSON with lci_perf's keys or as text.
void report(const program& who, const options& o, size_t size, const std::vector<double>& figures);

}  // namespace peers
