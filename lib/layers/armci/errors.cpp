#include "lib/layers/armci/errors.hpp"

#include <unistd.h>

#include <cstdio>
#include <lci.hpp>

namespace armci_layer {

void say(const char* function, const char* text) noexcept {
  char line[1024];
  int n = std::snprintf(line, sizeof line, "armci: %s: %s", function, text);
  if (n < 0) return;
  if (n > static_cast<int>(sizeof line) - 1) n = static_cast<int>(sizeof line) - 1;
  line[n++] = '\n';  // replaces the final 0
  // One write, as ranks share a terminal. Errors, such as a closed standard error, are ignored.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, static_cast<size_t>(n));
}

void end_job(const char* function, const char* text, int code) noexcept {
  say(function, text);
  std::fflush(nullptr);
  lci::abort_x(code == 0 ? 1 : code).message(text)();
  _exit(1);  // abort() does not return
}

void misuse(const char* function, const std::string& text) noexcept { end_job(function, text.c_str(), 1); }

}  // namespace armci_layer
