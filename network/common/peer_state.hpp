// Says whether a peer is alive, as far as a device knows.
#pragma once

#include <atomic>
#include <cstdint>

namespace lci::network {

/// The state of one peer. A member of what a device stores for the peer. Thread-safe. A peer ends or fails once;
/// neither is undone.
class peer_state {
 public:
  bool is_gone() const { return now_.load(std::memory_order_acquire) != state::alive; }  // pairs with leave()
  /// Marks the peer as failed; true for the first caller. A peer that has ended need not answer and can no longer fail.
  bool fail() { return leave(state::failed); }
  /// Marks the peer as ended, since it has closed its device; true for the first caller.
  bool end() { return leave(state::ended); }

 private:
  enum class state : uint8_t { alive, ended, failed };
  bool leave(state how) {
    state before = state::alive;
    return now_.compare_exchange_strong(before, how, std::memory_order_acq_rel);
  }
  std::atomic<state> now_{state::alive};
};

}  // namespace lci::network
