// What plain programs use in place of LCI's resources.
#pragma once

#include <memory>

#include "bench/lci_perf/contention.hpp"

namespace lci_perf {

std::unique_ptr<contended_object> make_floor_object(const options& o);

}  // namespace lci_perf
