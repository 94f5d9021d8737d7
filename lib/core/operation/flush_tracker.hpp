// Counts the operations that are under way to each peer, so that a flush knows when those before it
// have ended.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "lib/base/cpu.hpp"

namespace lci::core {

/// Thread-safe; nothing waits. Operations are counted by generation, of which the last two are told
/// apart. A flush begun in generation g has to do with operations of g and before. It lets generation
/// g + 1 begin as soon as none before g is left; then the count of g only falls, however much is
/// posted meanwhile.
///
/// Memory orders. What happened before a flush began includes the begin() of all operations it is
/// for, by program order or by what the caller has synchronised, so relaxed counting is seen. R1/A1:
/// whoever finds a count to be zero sees what was done before each end(). An operation that looked at
/// the generation before it changed is counted in the old one: it was posted at the same time as the
/// flush, so nobody minds whether that waits for it.
class flush_tracker {
 public:
  explicit flush_tracker(int n_ranks);

  /// An operation to `rank` begins. To be given to end().
  uint8_t begin(int rank) {
    const auto parity = static_cast<uint8_t>(generation_.load(std::memory_order_relaxed) & 1);
    count(parity, rank).fetch_add(1, std::memory_order_relaxed);
    total_[parity].fetch_add(1, std::memory_order_relaxed);
    return parity;
  }
  void end(int rank, uint8_t parity) {
    count(parity, rank).fetch_sub(1, std::memory_order_release);  // R1
    total_[parity].fetch_sub(1, std::memory_order_release);       // R1
  }

  uint64_t generation() const { return generation_.load(std::memory_order_relaxed); }
  /// Whether all operations to `rank`, or to any rank if it is negative, have ended that began before
  /// `generation` was read. To be asked again and again.
  bool flushed(int rank, uint64_t generation);

 private:
  struct release {
    void operator()(void* p) const;
  };
  std::atomic<int64_t>& count(int parity, int rank) const { return counts_.get()[2 * rank + parity]; }
  bool none(int parity, int rank) const {
    return (rank < 0 ? total_[parity] : count(parity, rank)).load(std::memory_order_acquire) == 0;  // A1
  }

  std::atomic<uint64_t> generation_{0};
  std::atomic<int64_t> total_[2] = {};
  std::unique_ptr<std::atomic<int64_t>, release> counts_;  // by rank, then parity
};

}  // namespace lci::core
