// Warnings to the user: one line each on standard error.
#pragma once

#include <string_view>

#include "lib/base/cpu.hpp"

namespace lci {

/// Prints "lci: warning: <text>". Allocates nothing. Thread-safe; lines of several processes do not interleave.
LCI_COLD void log_warning(std::string_view text) noexcept;

}  // namespace lci
