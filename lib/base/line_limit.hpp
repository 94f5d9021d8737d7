// A limit of the lines that a library prints on standard error, as other processes can cause them without end.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>

namespace lci {

/// Permits `at_once` lines, and from then on one line for each `interval` that has passed. Thread-safe.
class line_limit {
 public:
  static constexpr int64_t at_once = 1000;
  static constexpr std::chrono::nanoseconds interval = std::chrono::seconds(1);

  /// Asks for permission to print a line. Returns -1 if it must be left out, else the number of lines that were left
  /// out since the last permission.
  int64_t next(std::chrono::steady_clock::time_point when = std::chrono::steady_clock::now()) noexcept {
    const int64_t now = when.time_since_epoch().count();
    // When the line before would have been printed if there were one line per interval.
    int64_t busy = busy_until_.load(std::memory_order_relaxed);
    for (;;) {
      if (busy - now > (at_once - 1) * interval.count()) {
        left_out_.fetch_add(1, std::memory_order_relaxed);
        return -1;
      }
      if (busy_until_.compare_exchange_weak(busy, std::max(busy, now) + interval.count(), std::memory_order_relaxed))
        return left_out_.exchange(0, std::memory_order_relaxed);
    }
  }

 private:
  std::atomic<int64_t> busy_until_{INT64_MIN / 2}, left_out_{0};
};

/// The end of a printed line: the newline, and before it the number of lines that were left out, if there were any.
struct end_of_line {
  char text[64] = "\n";
  int size = 1;
  explicit end_of_line(int64_t left_out) noexcept {
    if (left_out > 0)
      size = std::snprintf(text, sizeof text, " (%lld lines before were left out)\n", static_cast<long long>(left_out));
  }
};

}  // namespace lci
