// Packets that posted receives leave to senders.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>

#include "lib/concurrent/spinlock.hpp"

namespace v1 {

/// Programs may post more receives than there are packets, each of which holds one until its message arrives. If such
/// receives held all packets of all ranks, no rank could send what ends a receive. So before a receive takes a packet,
/// it fills this reserve. Senders use the reserve when the pool is empty. Owns its packets until take(). Thread-safe.
class packet_reserve {
 public:
  explicit packet_reserve(size_t npackets);
  bool is_incomplete() const { return missing_.load(std::memory_order_relaxed) != 0; }
  /// Fills the reserve from the pool, as far as that has packets.
  void fill();
  /// Returns null if the reserve is empty.
  void* take();

 private:
  static constexpr size_t most = 64;  // packets

  const size_t size_;
  lci::spinlock lock_;
  std::array<void*, most> packets_{};  // under lock_
  std::atomic<size_t> missing_;        // packets; written under lock_
};

}  // namespace v1
