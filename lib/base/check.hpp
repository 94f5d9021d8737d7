// Errors: misuse by the program (throws), and bugs of the library (aborts). Both out of line and cold.
#pragma once

#include <string>

#include "lci/errors.hpp"
#include "lib/base/cpu.hpp"

namespace lci {

/// Throws invalid_argument_error: "post_send: rank = 7, must be 0..3: ...". `remedy` may be empty.
[[noreturn]] LCI_COLD void throw_invalid(const char* operation, const char* argument, const std::string& value,
                                         const std::string& limit, const std::string& remedy = {});

/// A bug of the library: prints and aborts.
[[noreturn]] LCI_COLD void internal_error(const char* expression, const char* file, int line);

}  // namespace lci

#define LCI_ASSERT(expr) (LCI_LIKELY(expr) ? (void)0 : ::lci::internal_error(#expr, __FILE__, __LINE__))
