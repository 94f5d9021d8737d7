// Counts calls without a result, so that every n-th of them can do something costly.
#pragma once

#include <atomic>
#include <cstdint>

namespace lci::network {

/// Thread-safe. Approximate: increments lost between threads only make it rarer.
class idle_counter {
 public:
  /// The number of this call.
  uint32_t count() {
    const uint32_t n = n_.load(std::memory_order_relaxed) + 1;
    n_.store(n, std::memory_order_relaxed);
    return n;
  }
  /// A call had a result.
  void note_result() { n_before_result_.store(n_.load(std::memory_order_relaxed), std::memory_order_relaxed); }
  /// Number of calls without a result since the last one with a result.
  uint32_t in_a_row() const {
    return n_.load(std::memory_order_relaxed) - n_before_result_.load(std::memory_order_relaxed);
  }
  /// Returns true for one of `period` calls.
  bool is_due(uint32_t period) { return count() % period == 0; }

 private:
  std::atomic<uint32_t> n_{0}, n_before_result_{0};
};

}  // namespace lci::network
