// How a thread receives completions of messages.
#pragma once

#include <array>
#include <cstdlib>
#include <vector>

#include "bench/lci_perf/side.hpp"

namespace lci_perf {

/// What each pair does in one round.
struct round_plan {
  uint64_t count = 0;
  uint64_t size = 0;
  uint64_t batch = 1;   ///< messages a synchronizer waits for, and between acknowledgements
  uint64_t window = 1;  ///< messages in flight
  bool check = false;
};

/// Reads one byte per cache line of a message delivered in place: otherwise it would not move between caches. Not used
/// for copies, which would be read twice; the other libraries' receives don't read what they have copied either.
inline void read_through(const void* data, size_t size) {
  const auto* p = static_cast<const volatile unsigned char*>(data);
  for (size_t i = 0; i < size; i += 64) (void)p[i];
}

/// Who owns a message's payload: `freed` (allocated; to be freed), `packet` (to be returned to the pool), or `ours`
/// (the benchmark's own memory; nothing to do).
enum class payload_kind { freed, packet, ours };

/// Takes arrived messages from the completion objects of a side, which must outlive it. Thread-bound.
template <comp_kind C>
class inbox {
 public:
  inbox(side& s, const round_plan& plan, payload_kind payload) : side_(s), payload_(payload) {
    if constexpr (C == comp_kind::sync) statuses_.resize(plan.batch);
  }

  /// Returns the number of messages that have arrived since the last call. Calls see(status) for each one whose
  /// completion object stores statuses.
  template <class See>
  uint64_t take(See see) {
    if constexpr (C == comp_kind::handler) {
      return since(side_.arrived.load(std::memory_order_acquire));  // S1: pairs with S2
    } else if constexpr (C == comp_kind::counter) {
      return since(static_cast<uint64_t>(lci::counter_get(side_.counter)));
    } else if constexpr (C == comp_kind::cq) {
      for (uint64_t n = 0;;) {
        const size_t popped = lci::cq_pop_many(side_.cq, popped_.size(), popped_.data());
        for (size_t i = 0; i < popped; ++i) {
          see(popped_[i]);
          give_back(popped_[i]);
        }
        n += popped;
        if (popped < popped_.size()) return n;
      }
    } else {
      if (!lci::sync_test(side_.syncs[turn_ % syncs_per_side], statuses_.data())) return 0;
      ++turn_;
      for (const lci::status_t& status : statuses_) {
        see(status);
        give_back(status);
      }
      return statuses_.size();
    }
  }
  uint64_t take() {
    return take([](const lci::status_t&) {});
  }

  /// Waits for one message and takes it. Not with batches.
  void wait_one() {
    while (take() == 0) side_.progress();
  }

 private:
  uint64_t since(uint64_t now) {
    const uint64_t n = now - side_.seen;
    side_.seen = now;
    return n;
  }
  void give_back(const lci::status_t& status) {
    if (payload_ == payload_kind::ours) return;
    if (payload_ == payload_kind::packet) {
      read_through(status.buffer, status.size);
      lci::put_upacket(status.buffer);
    } else {
      std::free(status.buffer);
    }
  }

  side& side_;
  const payload_kind payload_;
  uint64_t turn_ = 0;
  std::vector<lci::status_t> statuses_;
  std::array<lci::status_t, 32> popped_;  // from a completion queue at a time
};

}  // namespace lci_perf
