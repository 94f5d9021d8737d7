#include "lib/layers/ccs/misuse.hpp"

#include <cstdarg>
#include <cstdlib>
#include <new>

#include "lci.hpp"
#include "lib/base/error_line.hpp"

namespace ccs {

int refuse(const char* function, const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  lci::print_error_line("ccs", function, format, arguments);
  va_end(arguments);
  return CCS_FAILURE;
}

void fail(const char* function, const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  lci::print_error_line("ccs", function, format, arguments);
  va_end(arguments);
  for (int n = 0; n < lci::memory_tries; ++n) {
    try {
      lci::abort_x(1).message("an error in CCS")();
    } catch (...) {
      lci::await_memory();
    }
  }
  std::_Exit(1);  // the launcher then ends the other processes
}

void fail_by_exception(const char* function) noexcept {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    fail(function, "no memory is left");
  } catch (const std::exception& e) {
    fail(function, "%s", e.what());
  } catch (...) {
    fail(function, "an exception of an unknown class");
  }
}

const char* text_of_exception() noexcept {
  try {
    throw;
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "it is not derived from std::exception";
  }
}

}  // namespace ccs
