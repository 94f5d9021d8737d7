// Figures of the peers' programs, in lci_perf's words.
#pragma once

#include <string>
#include <vector>

#include "bench/peers/options.hpp"

namespace peers {

/// One line: the figures of all rounds, as JSON with lci_perf's keys or as text.
void report(const program& who, const options& o, size_t size, const std::vector<double>& figures);

}  // namespace peers
