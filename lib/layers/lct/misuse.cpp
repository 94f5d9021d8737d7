#include "lib/layers/lct/misuse.hpp"

#include <stdlib.h>
#include <unistd.h>

#include <cstdarg>
#include <cstdio>

namespace lct {

void fail(const char* function, const char* format, ...) noexcept {
  char line[1024];
  int n = std::snprintf(line, sizeof line, "lct: %s: ", function);
  va_list arguments;
  va_start(arguments, format);
  n += std::vsnprintf(line + n, sizeof line - static_cast<size_t>(n), format, arguments);
  va_end(arguments);
  if (n > static_cast<int>(sizeof line) - 1) n = static_cast<int>(sizeof line) - 1;
  line[n++] = '\n';  // replaces the final 0
  // One write, as ranks share a terminal. Errors, such as a closed standard error, are ignored.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, static_cast<size_t>(n));
  // Not exit(): its handlers would destroy objects that other threads still use.
  _Exit(EXIT_FAILURE);
}

}  // namespace lct
