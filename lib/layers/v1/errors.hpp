// Errors of functions with C linkage: a line of text and a code, no exception.
#pragma once

#include <lci.h>

#include <lci.hpp>

#include "lib/base/cpu.hpp"

namespace v1 {

/// Prints "lci: <function>: <text>" in one line; returns LCI_ERR_FATAL.
[[gnu::cold, gnu::noinline, gnu::format(printf, 2, 3)]] LCI_error_t fail(const char* function, const char* format,
                                                                         ...) noexcept;
/// The same for the exception that is being handled. After the failure of a peer, what waits for its answers ends.
[[gnu::cold, gnu::noinline]] LCI_error_t fail_by_exception(const char* function) noexcept;

/// Returns f(), or reports its exception.
template <class F>
inline LCI_error_t guarded(const char* function, F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    return fail_by_exception(function);
  }
}

/// For the end of an operation. A truncated message is no success.
inline LCI_error_t flag_of(const lci::status_t& ended) {
  return LCI_LIKELY(ended.is_done() && ended.error != lci::errorcode_t::done_truncated) ? LCI_OK : LCI_ERR_FATAL;
}

}  // namespace v1
