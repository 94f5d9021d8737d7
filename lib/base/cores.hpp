// How many cores the process may use.
#pragma once

namespace lci {

/// The number of cores in the affinity mask with which the process started, at least 1. Thread-safe.
unsigned usable_cores();

}  // namespace lci
