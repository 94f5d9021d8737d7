// The numbers of a device's collective operations.
#pragma once

#include <atomic>
#include <cstdint>

namespace lci::core {

/// Part of a device. Thread-safe. A number is the same at all ranks, since they begin a device's collective operations
/// in the same order.
class collective_numbers {
 public:
  /// Begins an operation, and returns its number.
  uint32_t next() { return next_.fetch_add(1, std::memory_order_relaxed); }
  /// Returns the number of an operation that has not begun at this rank.
  void take_back(uint32_t number) {
    uint32_t after = number + 1;
    next_.compare_exchange_strong(after, number, std::memory_order_relaxed, std::memory_order_relaxed);
  }
  /// The number that next() will return.
  uint32_t peek() const { return next_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint32_t> next_{0};
};

}  // namespace lci::core
