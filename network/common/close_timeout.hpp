// How long a closing device waits for its peers.
#pragma once

#include <chrono>

namespace lci::network {

/// Limits how long a closing device waits for the answers to its close notifications: a peer that makes no progress
/// does not answer and may compute for hours. Not thread-safe.
class close_timeout {
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
