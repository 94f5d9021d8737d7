// Handling of allocation failures.
#pragma once

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>

#include "lci/errors.hpp"
#include "lib/base/cpu.hpp"
#include "lib/base/insist_on_memory.hpp"

namespace lci {

/// Throws resource_error: "post_send: out of memory". Used to translate std::bad_alloc for the program, so it works
/// without memory if necessary.
[[noreturn]] LCI_COLD void throw_no_memory(const char* operation, const char* remedy = "");

/// The error for a message of kind `what` that has arrived and can't be stored.
LCI_COLD resource_error lost_message(const char* what, int peer, size_t size);

/// Has glibc's malloc keep freed blocks of up to `size` bytes (at most 32 MiB), and twice as much free memory, instead
/// of returning them to the system. Does nothing with other implementations, or if the program has set the thresholds
/// of malloc. For the whole process.
void keep_freed_blocks(size_t size);

/// Calls f(), and translates std::bad_alloc to resource_error.
template <class F>
decltype(auto) with_memory_errors(const char* operation, F f) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    throw_no_memory(operation);
  }
}

/// Returns whether a system call failed with this errno because the kernel had no memory: the call may succeed later.
inline bool lacks_memory(int error) { return error == ENOMEM || error == ENOBUFS; }

}  // namespace lci
