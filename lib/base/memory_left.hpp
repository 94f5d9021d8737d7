// The memory available to this process.
#pragma once

#include <cstddef>
#include <string>

#include "lib/base/cpu.hpp"

namespace lci {

struct memory_left {
  size_t bytes = ~size_t{0};  // the maximum if unknown
  std::string limit;          // the limit that determines it, for messages
};

/// Memory that can be allocated before the kernel ends processes for lack of it: the minimum of what the host and the
/// control groups of this process leave. Reclaimable page cache counts as available. `root`: prefix of /proc and /sys,
/// for tests. Reads files and allocates: meant for callers that allocate much.
LCI_COLD memory_left get_memory_left(const std::string& root = "");

/// Resident memory of this process in bytes.
LCI_COLD size_t get_resident_memory();

}  // namespace lci
