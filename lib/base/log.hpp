// Warnings to the user: one line each on standard error.
#pragma once

#include <string>

#include "lib/base/cpu.hpp"

namespace lci {

/// Prints "lci: warning: <text>". Thread-safe; lines of several processes do not interleave.
LCI_COLD void log_warning(const std::string& text);

}  // namespace lci
