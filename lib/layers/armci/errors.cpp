#include "lib/layers/armci/errors.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <lci.hpp>

#include "lib/base/error_line.hpp"

namespace armci_layer {

namespace {

void print(const char* function, const char* format, ...) noexcept {
  va_list arguments;
  va_start(arguments, format);
  lci::print_error_line("armci", function, format, arguments);
  va_end(arguments);
}

}  // namespace

void say(const char* function, const char* text) noexcept { print(function, "%s", text); }

void end_job(const char* function, const char* text, int code) noexcept {
  say(function, text);
  std::fflush(nullptr);
  abort_job(text, code);
}

void abort_job(const char* text, int code) noexcept {
  code = code == 0 ? 1 : code;
  for (int n = 0; n < lci::memory_tries; ++n) {
    try {
      lci::abort_x(code).message(text)();
    } catch (...) {
      lci::await_memory();
    }
  }
  std::_Exit(code);  // the launcher then ends the other processes
}

void misuse(const char* function, const std::string& text) noexcept { end_job(function, text.c_str(), 1); }

}  // namespace armci_layer
