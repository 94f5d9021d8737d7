// The barriers of a device: empty active messages, one for each round.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "lci/completion.hpp"

namespace lci::core {

class device;
class kept_exceptions;

/// Counts the messages of each round. Thread-safe. All messages of a round come from one rank, which sends one in each
/// barrier, so the n-th to arrive, whichever it is, says that this rank has entered its n-th barrier. A1/R1: a thread
/// that sees the count sees what happened here before the message was handled.
class barrier_rounds final : public comp_impl_t {
 public:
  barrier_rounds() { attr.am_in_place = true; }
  /// Number of the barrier that begins, from 1; the same at all ranks.
  uint64_t begin() { return entered_.fetch_add(1, std::memory_order_relaxed) + 1; }
  bool has_arrived(size_t round, uint64_t barrier) const {
    return arrived_[round].load(std::memory_order_acquire) >= barrier;  // A1
  }
  void signal(status_t status) override {
    if (status.tag < arrived_.size()) arrived_[status.tag].fetch_add(1, std::memory_order_release);  // R1
  }

 private:
  std::atomic<uint64_t> entered_{0};
  std::array<std::atomic<uint64_t>, 32> arrived_{};  // by round: enough for 2^32 ranks
};

/// Begins a barrier on the device. Returns its number.
uint64_t begin_barrier(device& d);
/// Makes progress until the message of this round has arrived. Throws if any rank of the job has failed.
void await_barrier(device& d, size_t round, uint64_t barrier, kept_exceptions& kept);
/// Makes progress until no message to `to` waits in the backlog. Otherwise the peer, which waits for it, would
/// wait for ever if this thread went on to another device.
void await_sent(device& d, int to, kept_exceptions& kept);

}  // namespace lci::core
