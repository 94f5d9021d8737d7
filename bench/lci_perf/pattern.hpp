// The content of messages: a pattern that depends on the sender, by which the receiver checks them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <lci.hpp>

namespace lci_perf {

/// Byte `i` of a message from the side with this seed.
inline char pattern_byte(size_t i, int seed) {
  return static_cast<char>(i * 37 + (i >> 8) * 11 + static_cast<size_t>(seed) * 91 + 1);
}
inline void fill_pattern(void* to, size_t size, int seed) {
  for (size_t i = 0; i < size; ++i) static_cast<char*>(to)[i] = pattern_byte(i, seed);
}
inline bool has_pattern(const void* at, size_t size, int seed) {
  for (size_t i = 0; i < size; ++i) {
    if (static_cast<const char*>(at)[i] != pattern_byte(i, seed)) return false;
  }
  return true;
}

/// The tag of message `k` of pair `index` in a checking round.
inline lci::tag_t numbered_tag(int index, uint64_t k) { return static_cast<lci::tag_t>(index) | k << 8; }

/// What one side of a pair has received in a checking round. look() may be called by several threads concurrently.
struct message_check {
  uint64_t size = 0;
  int seed = 0;
  bool ordered = false;
  std::atomic<uint64_t> seen{0}, sum_of_numbers{0};

  void begin(uint64_t message_size, int sender_seed, bool in_order) {
    size = message_size;
    seed = sender_seed;
    ordered = in_order;
    sum_of_numbers.store(0, std::memory_order_relaxed);
    seen.store(0, std::memory_order_release);  // K3: pairs with K4
  }
  /// Ends the process, with a reason, if the message is not what its sender sent.
  void look(const lci::status_t& status);
  /// Ends the process if not exactly `count` messages have arrived, each once.
  void end(uint64_t count) const;
};

}  // namespace lci_perf
