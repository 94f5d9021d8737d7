// Lines on standard error that say what a program has done wrong, for the layers.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>

namespace lci {

/// An address in such a line. printf's %p would write "(nil)" for a null pointer, which users know as NULL.
struct address_text {
  char text[2 + 2 * sizeof(void*) + 1] = "NULL";
  explicit address_text(const void* address) noexcept {
    if (address != nullptr) std::snprintf(text, sizeof text, "%p", address);
  }
};

/// Prints "LIBRARY: FUNCTION: TEXT", at most a KiB of it, with one write, as ranks share a terminal. If that fails, for
/// example because standard error is closed, nothing is printed. Allocates nothing. Thread-safe.
inline void print_error_line(const char* library, const char* function, const char* format,
                             va_list arguments) noexcept {
  char line[1024];
  constexpr int last = sizeof line - 1;
  int n = std::snprintf(line, sizeof line, "%s: %s: ", library, function);
  if (n < 0) return;
  n = std::min(n, last);
  n += std::max(0, std::vsnprintf(line + n, sizeof line - static_cast<size_t>(n), format, arguments));
  n = std::min(n, last);
  line[n++] = '\n';  // replaces the final 0
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, static_cast<size_t>(n));
}

}  // namespace lci
