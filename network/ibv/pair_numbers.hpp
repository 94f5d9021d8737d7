// Maps queue pair numbers to peers, as the completion of a receive has only the number.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lci::network::ibv {

/// A hash table, filled once and at most half full; then read by all threads without locks.
class pair_numbers {
 public:
  void make(size_t n) {
    entries_.assign(std::bit_ceil(2 * n + 1), {0, -1});
    mask_ = static_cast<uint32_t>(entries_.size() - 1);
  }
  void add(uint32_t number, int peer) {
    uint32_t at = number & mask_;
    while (entries_[at].peer >= 0) at = (at + 1) & mask_;
    entries_[at] = {number, peer};
  }
  /// Returns -1 if the number is unknown.
  int peer_of(uint32_t number) const {
    for (uint32_t at = number & mask_;; at = (at + 1) & mask_)
      if (entries_[at].number == number || entries_[at].peer < 0) return entries_[at].peer;
  }

 private:
  struct entry {
    uint32_t number;
    int peer;
  };
  std::vector<entry> entries_;
  uint32_t mask_ = 0;
};

}  // namespace lci::network::ibv
