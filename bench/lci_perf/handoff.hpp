// The baseline of a latency, measured by the same two processes right before it.
#pragma once

#include <atomic>
#include <cstdint>
#include <lci.hpp>
#include <new>
#include <vector>

#include "bench/lci_perf/clock.hpp"
#include "bench/lci_perf/report.hpp"
#include "bench/lci_perf/together.hpp"

namespace lci_perf {

/// Round trip of a cache line to the other rank's process, over memory that both have mapped. Only the ratio to it is
/// comparable where the host's scheduler moves virtual cores: their distance may change within a second.
class handoff {
 public:
  static constexpr uint64_t count = 8192;  // round trips per round: a few milliseconds

  /// Collective over both ranks. Does nothing if not `wanted`.
  handoff(bool wanted, int rank) : wanted_(wanted) {
    if (!wanted) return;
    memory_ = lci::alloc_symmetric(sizeof(lines) * 2);
    // Symmetric memory is aligned for any standard type, but not to 128 bytes.
    auto at = reinterpret_cast<uintptr_t>(lci::get_symmetric_address(memory_, 0));
    at = (at + alignof(lines) - 1) / alignof(lines) * alignof(lines);
    lines_ = rank == 0 ? new (reinterpret_cast<void*>(at)) lines : reinterpret_cast<lines*>(at);
    meet_on(lci::get_default_device());
  }
  ~handoff() {
    if (wanted_) lci::free_symmetric(&memory_);
  }
  handoff(const handoff&) = delete;
  handoff& operator=(const handoff&) = delete;

  bool wanted() const { return wanted_; }

  /// Called by rank 0 while rank 1 calls answer(). Keeps the figure for figures().
  void lead() {
    if (!wanted_) return;
    const double start = now_seconds();
    for (uint64_t i = 0; i < count; ++i) {
      lines_->request.store(++number_, std::memory_order_release);  // H2: pairs with H1
      wait_for(lines_->answer);
    }
    figures_.push_back(figure_of(metric_kind::handoff, now_seconds() - start, count, 8));
  }
  void answer() {
    if (!wanted_) return;
    for (uint64_t i = 0; i < count; ++i) {
      ++number_;
      wait_for(lines_->request);
      lines_->answer.store(number_, std::memory_order_release);  // H2: pairs with H1
    }
  }
  /// The figures of the last `n` rounds, in nanoseconds one way. Empty if not wanted.
  std::vector<double> figures(int n) const {
    return wanted_ ? std::vector<double>(figures_.end() - n, figures_.end()) : std::vector<double>();
  }

 private:
  struct lines {
    alignas(128) std::atomic<uint64_t> request{0};
    alignas(128) std::atomic<uint64_t> answer{0};
  };

  void wait_for(const std::atomic<uint64_t>& word) const {
    while (word.load(std::memory_order_acquire) != number_) {  // H1: pairs with the other rank's H2
    }
  }

  const bool wanted_;
  lci::symmetric_t memory_;
  lines* lines_ = nullptr;
  uint64_t number_ = 0;
  std::vector<double> figures_;
};

}  // namespace lci_perf
