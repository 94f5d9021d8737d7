// Rounds of progress until something has happened: polling at first, then with pauses in the network.
#pragma once

#include <algorithm>
#include <cstdint>

#include "lib/base/cpu.hpp"
#include "lib/core/device/device.hpp"

namespace lci::core {

/// For loops that wait for an effect of progress on one device. Used by one thread. An arriving message ends a pause at
/// once. The effect of another thread's progress does not, nor does room at a peer for what waits in the backlog, so
/// pauses start short and have an upper bound.
class progress_backoff {
 public:
  explicit progress_backoff(device& d) : device_(d) {}

  /// Makes progress once, and pauses if nothing has happened for a while, but for `longest_us` at most. Throws what
  /// progress() throws.
  LCI_COLD void next(int64_t longest_us = longest_pause_us) {
    if (device_.progress()) {
      idle_rounds_ = 0;
      pause_us_ = shortest_pause_us;
    } else if (++idle_rounds_ > rounds_before_pause) {
      pause(longest_us);
    }
  }

 private:
  static constexpr int rounds_before_pause = 1000;  // of a poll each: some ten microseconds
  static constexpr int64_t shortest_pause_us = 100;
  static constexpr int64_t longest_pause_us = 2000;

  void pause(int64_t longest_us) {
    const int64_t due_us = device_.deadlines.left() / 1000;
    device_.net->wait(std::max<int64_t>(std::min({pause_us_, due_us, longest_us}), 1));
    pause_us_ = std::min(2 * pause_us_, longest_pause_us);
  }

  device& device_;
  int idle_rounds_ = 0;
  int64_t pause_us_ = shortest_pause_us;
};

}  // namespace lci::core
