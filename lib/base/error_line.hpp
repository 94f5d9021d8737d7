// Lines on standard error that say what a program has done wrong, for the layers.
#pragma once

#include <unistd.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "lib/base/line_limit.hpp"

namespace lci {

/// An address in such a line. printf's %p would write "(nil)" for a null pointer, which users know as NULL.
struct address_text {
  char text[2 + 2 * sizeof(void*) + 1] = "NULL";
  explicit address_text(const void* address) noexcept {
    if (address != nullptr) std::snprintf(text, sizeof text, "%p", address);
  }
};

/// Limits the lines of print_error_line(). Each shared library has a variable of its own.
inline constinit line_limit error_lines;

/// Prints "LIBRARY: FUNCTION: TEXT", at most a KiB of it, with one write, as ranks share a terminal. If that fails, for
/// example because standard error is closed, nothing is printed. Beyond the limit
/// `error_lines` nothing is printed either, since a peer may cause such errors without end. Allocates nothing.
/// Thread-safe.
inline void print_error_line(const char* library, const char* function, const char* format,
                             va_list arguments) noexcept {
  const int64_t left_out = error_lines.next();
  if (left_out < 0) return;
  char line[1024];
  const end_of_line end(left_out);
  const int longest = static_cast<int>(sizeof line) - end.size;  // of the text
  int n = std::snprintf(line, static_cast<size_t>(longest) + 1, "%s: %s: ", library, function);
  if (n < 0) return;
  n = std::min(n, longest);
  n += std::max(0, std::vsnprintf(line + n, static_cast<size_t>(longest - n) + 1, format, arguments));
  n = std::min(n, longest);
  std::memcpy(line + n, end.text, static_cast<size_t>(end.size));
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, static_cast<size_t>(n + end.size));
}

}  // namespace lci
