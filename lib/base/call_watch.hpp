// The flags that enable checks before each call: one byte, usually zero.
#pragma once

#include <atomic>
#include <cstdint>

#include "lib/base/cpu.hpp"

namespace lci {

enum call_watch_bit : uint8_t {
  process_was_forked = 1,  ///< this is a child process of one that uses the library
  calls_are_checked = 2,   ///< a runtime was allocated with the attribute `check`
};

/// Bits are set while no call is in progress that could miss them. Only restart_after_fork() clears one.
inline constinit std::atomic<uint8_t> call_watch{0};

inline bool calls_are_watched() { return LCI_UNLIKELY(call_watch.load(std::memory_order_relaxed) != 0); }
inline bool watched_for(call_watch_bit what) {
  return LCI_UNLIKELY((call_watch.load(std::memory_order_relaxed) & what) != 0);
}

}  // namespace lci
