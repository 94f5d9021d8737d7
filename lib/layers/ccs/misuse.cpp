#include "lib/layers/ccs/misuse.hpp"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>

#include "lci.hpp"

namespace ccs {

namespace {

void print(const char* function, const char* format, va_list arguments) {
  char line[1024];
  int n = std::snprintf(line, sizeof line, "ccs: %s: ", function);
  n += std::vsnprintf(line + n, sizeof line - static_cast<size_t>(n), format, arguments);
  if (n > static_cast<int>(sizeof line) - 1) n = static_cast<int>(sizeof line) - 1;
  line[n++] = '\n';  // replaces the final 0
  // One write, as ranks share a terminal. Errors, such as a closed standard error, are ignored.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, static_cast<size_t>(n));
}

}  // namespace

int refuse(const char* function, const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  print(function, format, arguments);
  va_end(arguments);
  return CCS_FAILURE;
}

void fail(const char* function, const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  print(function, format, arguments);
  va_end(arguments);
  lci::abort_x(1).message("an error in CCS")();
  std::_Exit(1);
}

void fail_by_exception(const char* function) noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    fail(function, "no memory is left");
  } catch (const std::exception& e) {
    fail(function, "%s", e.what());
  } catch (...) {
    fail(function, "an exception of an unknown class left a handler or callback");
  }
}

}  // namespace ccs
