// When a device last checked its connections and peers.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "lib/base/ticks.hpp"

namespace lci::network {

/// Checks are system calls, so most polls make none: a device checks after a number of polls, and when that takes too
/// long, as in a program that rarely polls, or whose threads share a core. Thread-safe.
class check_time {
 public:
  /// Returns whether the last check was more than `longest_unchecked` ago. `now`: cpu_ticks().
  bool is_over(uint64_t now) const { return now - checked_at_.load(std::memory_order_relaxed) > longest_unchecked; }
  void begin(uint64_t now) { checked_at_.store(now, std::memory_order_relaxed); }

 private:
  static inline const uint64_t longest_unchecked = ticks_in(std::chrono::milliseconds(10));
  std::atomic<uint64_t> checked_at_{0};  // ticks
};

}  // namespace lci::network
