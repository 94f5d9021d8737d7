// Warnings to the user: one line each on standard error.
#pragma once

#include <exception>
#include <string_view>

#include "lib/base/cpu.hpp"

namespace lci {

/// Prints "lci: warning: <text>". Allocates nothing. Thread-safe; lines of several processes do not interleave.
LCI_COLD void log_warning(std::string_view text) noexcept;

/// Prints "lci: warning: <about>: <the text of the exception>", of which some 400 characters. Otherwise as
/// log_warning().
LCI_COLD void log_exception(const char* about, const std::exception_ptr& thrown) noexcept;

}  // namespace lci
