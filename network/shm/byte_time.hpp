// Measures the time that a byte of a stream takes, for choices between two ways of receiving.
#pragma once

#include <chrono>
#include <cstdint>

#include "lib/base/cpu.hpp"
#include "lib/base/ticks.hpp"

namespace lci::network::shm {

/// Adds up the bytes that polls have read from a ring, and, if it is measured, the time between these polls. Used by
/// one thread at a time. `ticks` is the clock, which tests replace.
template <uint64_t (*ticks)()>
class byte_time {
 public:
  void begin(bool is_measured) {
    bytes_ = time_ = 0;
    is_measured_ = is_measured;
    if (is_measured) since_ = ticks();
  }
  /// Call after each poll that has read `size` bytes.
  void add(uint64_t size) {
    bytes_ += size;
    if (LCI_UNLIKELY(is_measured_)) add_time();
  }
  bool is_measured() const { return is_measured_; }
  uint64_t bytes() const { return bytes_; }
  float ticks_per_byte() const { return static_cast<float>(time_) / static_cast<float>(bytes_); }

 private:
  // Longer times between two polls with messages are the program's, and are not counted.
  static inline const uint64_t longest_wait = ticks_in(std::chrono::microseconds(50));

  void add_time() {
    const uint64_t now = ticks();
    const uint64_t passed = now - since_;
    if (passed < longest_wait) time_ += passed;
    since_ = now;
  }

  uint64_t bytes_ = 0;
  uint64_t time_ = 0;   // ticks, if it is measured
  uint64_t since_ = 0;  // when the latest poll with messages ended, if it is measured
  bool is_measured_ = false;
};

}  // namespace lci::network::shm
