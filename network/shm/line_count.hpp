// Counts how often, and for how many bytes, a receiver has written to lines that it has read, or a sender has
// prefetched lines for its next message.
#pragma once

#include <atomic>
#include <cstdint>

#include "lci/counters.hpp"

namespace lci::network::shm {

/// One thread at a time may call add(), any thread add_to(). Relaxed, as no other data is read because of a count.
class line_count {
 public:
  void add(uint64_t bytes) {
    times_.store(times_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    bytes_.store(bytes_.load(std::memory_order_relaxed) + bytes, std::memory_order_relaxed);
  }
  void add_to(count_t& sum) const {
    sum.messages += times_.load(std::memory_order_relaxed);
    sum.bytes += bytes_.load(std::memory_order_relaxed);
  }

 private:
  std::atomic<uint64_t> times_{0}, bytes_{0};
};

}  // namespace lci::network::shm
