// How much memory is left to this process.
#pragma once

#include <cstddef>
#include <string>

#include "lib/base/cpu.hpp"

namespace lci {

struct memory_left {
  size_t bytes = ~size_t{0};  // if nothing is known
  std::string limit;          // what sets that, for messages
};

/// Before the kernel ends processes for want of memory: the least of what the host and the control groups of this
/// process leave, pages counted that are only kept to be read again. `root`: where /proc and /sys are; for tests.
/// System calls and allocations: for what allocates much.
LCI_COLD memory_left get_memory_left(const std::string& root = "");

/// Bytes of memory that this process occupies.
LCI_COLD size_t get_resident_memory();

}  // namespace lci
