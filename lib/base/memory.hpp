// What happens when there is no memory.
#pragma once

#include <time.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>

#include "lci/errors.hpp"
#include "lib/base/cpu.hpp"

namespace lci {

/// Throws resource_error: "post_send: out of memory". For what std::bad_alloc becomes on its way to the program, so it
/// does without memory if it must.
[[noreturn]] LCI_COLD void throw_no_memory(const char* operation, const char* remedy = "");

/// Of `what` (a kind of message) that has come and can't be kept.
LCI_COLD resource_error lost_message(const char* what, int peer, size_t size);

/// Calls f(), and what it throws for want of memory becomes resource_error.
template <class F>
decltype(auto) with_memory_errors(const char* operation, F f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    throw_no_memory(operation);
  }
}

/// How often an allocation is tried that nobody can be told to do again later, as where a message has come that must
/// be put somewhere. Others may give memory back meanwhile: between two tries is a millisecond.
constexpr int memory_tries = 20;
/// Whether a system call failed with this errno because the kernel had no memory: the call may succeed later.
inline bool lacks_memory(int error) { return error == ENOMEM || error == ENOBUFS; }

/// Between two of them.
LCI_COLD inline void await_memory() {
  const timespec a_millisecond{0, 1000000};
  nanosleep(&a_millisecond, nullptr);
}

/// Calls f() until it does not throw `Shortage`, memory_tries times at most. The last call may throw it.
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
