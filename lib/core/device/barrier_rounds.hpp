// What a device has heard of barriers: empty active messages, one for each round.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "lci/completion.hpp"

namespace lci::core {

/// Thread-safe. A round's messages all come from one rank, which sends one in each barrier. So the
/// n-th to come, whichever it is, says that this rank has entered its n-th barrier. A1/R1: whoever
/// has heard of a rank sees what happened here before its message was handled.
class barrier_rounds final : public comp_impl_t {
 public:
  barrier_rounds() { attr.am_in_place = true; }
  /// Number of the barrier that begins, from 1.
  uint64_t begin() { return entered_.fetch_add(1, std::memory_order_relaxed) + 1; }
  bool heard(size_t round, uint64_t barrier) const {
    return heard_[round].load(std::memory_order_acquire) >= barrier;  // A1
  }
  void signal(status_t status) override {
    if (status.tag < heard_.size()) heard_[status.tag].fetch_add(1, std::memory_order_release);  // R1
  }

 private:
  std::atomic<uint64_t> entered_{0};
  std::array<std::atomic<uint64_t>, 32> heard_{};  // of 2^32 ranks
};

}  // namespace lci::core
