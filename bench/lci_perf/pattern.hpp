// What messages carry: bytes that tell who has sent them, so that a receiver can see whether they
// came.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <lci.hpp>

namespace lci_perf {

/// Byte `i` of a message of the end with this seed.
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

/// In a round that checks, the tag also numbers the messages.
inline lci::tag_t numbered_tag(int index, uint64_t k) {
  return static_cast<lci::tag_t>(index) | k << 8;
}

/// What one end of a pair has seen in a round that checks. Several threads may have messages looked
/// at, one each at the same time.
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
  /// Ends the process, with a reason, if the message is not what its sender has sent.
  void look(const lci::status_t& status);
  /// The same if they are not `count` messages, each of them once.
  void end(uint64_t count) const;
};

}  // namespace lci_perf
