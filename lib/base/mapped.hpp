// Test whether addresses are mapped.
#pragma once

#include <cstddef>

#include "lib/base/cpu.hpp"

namespace lci {

/// Returns whether all pages of [base, base + size) are currently mapped. Makes system calls: for the checking mode.
LCI_COLD bool is_mapped(const void* base, size_t size);

}  // namespace lci
