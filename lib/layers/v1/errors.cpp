#include "lib/layers/v1/errors.hpp"

#include <unistd.h>

#include <cstdarg>
#include <cstdio>
#include <new>

#include "lib/layers/v1/vectors.hpp"

namespace v1 {

LCI_error_t fail(const char* function, const char* format, ...) noexcept {
  char line[1024];
  int n = std::snprintf(line, sizeof line, "lci: %s: ", function);
  va_list arguments;
  va_start(arguments, format);
  n += std::vsnprintf(line + n, sizeof line - static_cast<size_t>(n), format, arguments);
  va_end(arguments);
  if (n > static_cast<int>(sizeof line) - 1) n = static_cast<int>(sizeof line) - 1;
  line[n++] = '\n';  // replaces the final 0
  // One write, as ranks share a terminal. Errors, such as a closed standard error, are ignored.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, static_cast<size_t>(n));
  return LCI_ERR_FATAL;
}

LCI_error_t fail_by_exception(const char* function) noexcept {
  try {
    throw;
  } catch (const lci::peer_failure_error& e) {
    const LCI_error_t code = fail(function, "%s", e.what());
    end_vectors_of(e.failed_rank());
    return code;
  } catch (const std::bad_alloc&) {
    return fail(function, "no memory is left");
  } catch (const std::exception& e) {
    return fail(function, "%s", e.what());
  } catch (...) {
    return fail(function, "a handler has thrown something that is no std::exception");
  }
}

}  // namespace v1
