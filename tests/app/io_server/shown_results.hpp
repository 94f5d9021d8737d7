// Prints the results of calls, so that what a program does to remote files can be compared with local ones.
#pragma once

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

/// Returns the number of the next line.
inline int next_line() {
  static int line = 0;
  return ++line;
}

/// Prints a numbered line: the result of a call, or the name of the error that it has failed with.
inline void show(const char* what, long result) {
  if (result < 0)
    std::printf("%d %s: %s\n", next_line(), what, strerrorname_np(errno));
  else
    std::printf("%d %s: %ld\n", next_line(), what, result);
}
/// Prints a numbered line with a text.
inline void show(const char* what, const std::string& text) {
  std::printf("%d %s: %s\n", next_line(), what, text.c_str());
}

#define SHOW(call) show(#call, static_cast<long>(call))
