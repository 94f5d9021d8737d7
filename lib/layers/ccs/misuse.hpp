// Errors of functions with C linkage: a line on standard error, and either CCS_FAILURE or the end of the job.
#pragma once

#include <ccs.h>

#include <exception>
#include <new>

#include "lci/errors.hpp"
#include "lib/base/insist_on_memory.hpp"

namespace ccs {

/// Prints "ccs: <function>: <text>" in one line and returns CCS_FAILURE. Allocates nothing.
[[gnu::cold, gnu::noinline, gnu::format(printf, 2, 3)]] int refuse(const char* function, const char* format,
                                                                   ...) noexcept;

/// Prints such a line and ends the job: for errors that no return code can report.
[[noreturn, gnu::cold, gnu::noinline, gnu::format(printf, 2, 3)]] void fail(const char* function, const char* format,
                                                                            ...) noexcept;

/// Ends the job for the exception that is being handled.
[[noreturn, gnu::cold, gnu::noinline]] void fail_by_exception(const char* function) noexcept;

/// The text of the exception that is being handled. Valid while it is.
const char* text_of_exception() noexcept;

/// Calls f() and returns its result; for actions whose failure can't be reported to a caller. If f() throws because
/// there is no memory, calls it again, up to lci::memory_tries times in all; a call that throws must have had no
/// effect. Ends the job if the last call throws as well, or if f() throws anything else.
template <class F>
decltype(auto) insist(const char* function, F&& f) noexcept {
  for (int n = 1;; ++n) {
    try {
      return f();
    } catch (const std::bad_alloc&) {
      if (n == lci::memory_tries) fail_by_exception(function);
    } catch (const lci::resource_error&) {
      if (n == lci::memory_tries) fail_by_exception(function);
    } catch (...) {
      fail_by_exception(function);
    }
    lci::await_memory();
  }
}

/// Returns f(), a result code. No memory is CCS_NOMEM; other exceptions of the core are misuse of the layer, or the
/// failure of a process, which ends the job.
template <class F>
int or_code(const char* function, F&& f) noexcept {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return CCS_NOMEM;
  } catch (const lci::resource_error& e) {
    (void)refuse(function, "%s", e.what());
    return CCS_NOMEM;
  } catch (...) {
    fail_by_exception(function);
  }
}

/// Returns f(); ends the job if it throws.
template <class F>
decltype(auto) or_fail(const char* function, F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    fail_by_exception(function);
  }
}

}  // namespace ccs
