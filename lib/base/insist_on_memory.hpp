// Repeating an allocation that can't be left to a later retry.
#pragma once

#include <time.h>

#include <new>

#include "lib/base/cpu.hpp"

namespace lci {

/// Number of attempts of an allocation that can't be left to a later retry, for example for a message that has arrived
/// and must be stored. One millisecond passes between two attempts, in which other code may free memory.
constexpr int memory_tries = 20;

/// Sleeps for the time between two attempts.
LCI_COLD inline void await_memory() {
  const timespec a_millisecond{0, 1000000};
  nanosleep(&a_millisecond, nullptr);
}

/// Calls f() until it does not throw `Shortage`, at most memory_tries times. The last call may throw it. A call that
/// throws must have had no effect.
template <class Shortage = std::bad_alloc, class F>
decltype(auto) insist_on_memory(F f) {
  for (int n = 1; n < memory_tries; ++n) {
    try {
      return f();
    } catch (const Shortage&) {
    }
    await_memory();
  }
  return f();
}

}  // namespace lci
