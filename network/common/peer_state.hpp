// Whether a peer is alive, as far as a device knows; and how long a closing device waits for its peers.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace lci::network {

/// Thread-safe. A peer leaves or fails once; neither is undone.
class peer_state {
 public:
  bool is_gone() const { return now_.load(std::memory_order_acquire) != state::alive; }  // pairs with end()
  /// Marks the peer as failed; true for the first caller. A peer that has left need not answer and can no longer fail.
  bool fail() { return end(state::failed); }
  /// The same for a peer that has closed its device.
  bool let_go() { return end(state::left); }

 private:
  enum class state : uint8_t { alive, left, failed };
  bool end(state how) {
    state before = state::alive;
    return now_.compare_exchange_strong(before, how, std::memory_order_acq_rel);
  }
  std::atomic<state> now_{state::alive};
};

/// Limits how long a closing device waits for the answers to its close notifications: a peer that makes no progress
/// does not answer and may compute for hours. Not thread-safe.
class goodbye_timeout {
 public:
  /// The timeout starts with the first call.
  bool is_over() {
    const auto now = std::chrono::steady_clock::now();
    if (ends_ == std::chrono::steady_clock::time_point()) ends_ = now + longest;
    return now >= ends_;
  }

 private:
  static constexpr std::chrono::seconds longest{2};
  std::chrono::steady_clock::time_point ends_;
};

}  // namespace lci::network
