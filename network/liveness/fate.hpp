// What has become of a peer, as far as a device knows; and how long a device that leaves waits for its peers.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace lci::network {

/// Thread-safe. A peer leaves or fails once, and stays so.
class fate {
 public:
  bool is_gone() const { return now_.load(std::memory_order_acquire) != state::alive; }  // pairs with end()
  /// True for who finds out. One that has left is not expected to answer, and does not fail any more.
  bool fail() { return end(state::failed); }
  /// The same.
  bool let_go() { return end(state::left); }

 private:
  enum class state : uint8_t { alive, left, failed };
  bool end(state how) {
    state before = state::alive;
    return now_.compare_exchange_strong(before, how, std::memory_order_acq_rel);
  }
  std::atomic<state> now_{state::alive};
};

/// A peer that makes no progress answers no goodbye, and may be computing for hours. By one thread.
class farewell_time {
 public:
  /// Begins with the first question.
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
