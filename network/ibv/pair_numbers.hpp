// Which peer a queue pair's number stands for: a completion of something received says no more.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace lci::network::ibv {

/// A hash table, made once, half empty at least; read by all threads.
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
  /// -1: of none.
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
