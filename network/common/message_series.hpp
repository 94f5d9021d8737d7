// Decides whether a small message is sent at once or in a bundle, by the time since the previous message.
#pragma once

#include <chrono>
#include <cstdint>

#include "lib/base/ticks.hpp"

namespace lci::network {

/// Detects that messages are posted in quick succession, so that they should be sent in bundles. A member of the state
/// of a peer. Not thread-safe.
struct message_series {
  /// A message posted later than this (in ticks; 2.5 us) after the previous one starts a new series. A system call
  /// takes longer than joining a bundle, so a thread that posts many messages at once finishes before this time is
  /// over.
  static inline const uint64_t closely = ticks_in(std::chrono::nanoseconds(2500));

  uint64_t last = 0;  // ticks of the last post
  int alone = 0;      // messages of this series that were sent alone

  /// Returns whether to send the next message alone, like the first `few` of a series; if so, counts it.
  bool goes_alone(uint64_t now, int few) {
    if (now - last > closely) alone = 0;
    if (alone == few) return false;
    ++alone;
    return true;
  }
};

}  // namespace lci::network
