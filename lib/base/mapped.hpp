// Whether there is memory at an address.
#pragma once

#include <cstddef>

#include "lib/base/cpu.hpp"

namespace lci {

/// Whether all pages of [base, base + size) are mapped just now. System calls: for the checking mode.
LCI_COLD bool is_mapped(const void* base, size_t size);

}  // namespace lci
