#include "lib/layers/mercury/misuse.hpp"

#include <cstdarg>

#include "lib/base/error_line.hpp"

namespace mercury {

hg_return_t fail(hg_return_t code, const char* function, const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  lci::print_error_line("mercury", function, format, arguments);
  va_end(arguments);
  return code;
}

}  // namespace mercury
