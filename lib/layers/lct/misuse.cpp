#include "lib/layers/lct/misuse.hpp"

#include <stdlib.h>

#include <cstdarg>

#include "lib/base/error_line.hpp"

namespace lct {

void fail(const char* function, const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  lci::print_error_line("lct", function, format, arguments);
  va_end(arguments);
  // Not exit(): its handlers would destroy objects that other threads still use.
  _Exit(EXIT_FAILURE);
}

}  // namespace lct
