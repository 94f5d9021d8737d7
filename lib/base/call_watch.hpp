// Whether calls are looked at before they are made: one byte, which is zero as a rule.
#pragma once

#include <atomic>
#include <cstdint>

#include "lib/base/cpu.hpp"

namespace lci {

enum call_watch_bit : uint8_t {
  process_was_forked = 1,  ///< this is a child process of one that uses the library
  calls_are_checked = 2,   ///< a runtime was allocated with the attribute `check`
};

/// Set while no call is under way that could miss it, and never cleared.
inline constinit std::atomic<uint8_t> call_watch{0};

inline bool calls_are_watched() {
  return LCI_UNLIKELY(call_watch.load(std::memory_order_relaxed) != 0);
}
inline bool watched_for(call_watch_bit what) {
  return LCI_UNLIKELY((call_watch.load(std::memory_order_relaxed) & what) != 0);
}

}  // namespace lci
