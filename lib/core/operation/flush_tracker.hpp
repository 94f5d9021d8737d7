// Counts the outstanding operations to each peer, so that a flush knows when those before it have ended.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "lib/base/cpu.hpp"

namespace lci::core {

/// Counts outstanding operations by peer and generation; only the parity of a generation is stored, so two
/// generations are distinguished. Thread-safe; no call waits. A flush that begins in generation g covers the operations
/// of g and before. It starts generation g + 1 as soon as no operation from before g is left; from then on
/// the count of g only falls, however much is posted meanwhile.
///
/// Memory orders. The begin() of every operation that a flush covers happens before the flush, by program order or
/// by the caller's synchronisation, so the flush sees counts that were raised relaxed. R1/A1:
/// a thread that reads a count of zero sees what was done before each end(). An operation that read
/// the generation before it changed is counted in the old one: it was posted concurrently with the
/// flush, which may or may not wait for it.
class flush_tracker {
 public:
  explicit flush_tracker(int n_ranks);

  /// Counts a new operation to `rank`. Pass the result to end().
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
  /// Returns whether all operations to `rank` (to all ranks if negative) that began before `generation` was read
  /// have ended. Callers poll it: a call may also start the next generation.
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
