// What plain programs use in place of LCI's resources.
#pragma once

#include <memory>

#include "bench/lci_perf/contest.hpp"

namespace lci_perf {

std::unique_ptr<contest> make_floor_contest(const options& o);

}  // namespace lci_perf
