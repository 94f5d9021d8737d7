// Errors of functions with C linkage: a line on standard error, and either CCS_FAILURE or the end of the job.
#pragma once

#include <ccs.h>

#include <exception>
#include <new>

#include "lci/errors.hpp"

namespace ccs {

/// Prints "ccs: <function>: <text>" in one line and returns CCS_FAILURE. Allocates nothing.
[[gnu::cold, gnu::noinline, gnu::format(printf, 2, 3)]] int refuse(const char* function, const char* format,
                                                                   ...) noexcept;

/// Prints such a line and ends the job: for errors that no return code can report.
[[noreturn, gnu::cold, gnu::noinline, gnu::format(printf, 2, 3)]] void fail(const char* function, const char* format,
                                                                            ...) noexcept;

/// Ends the job for the exception that is being handled.
[[noreturn, gnu::cold, gnu::noinline]] void fail_by_exception(const char* function) noexcept;

/// Returns f(), a result code. Returns CCS_NOMEM if f() throws std::bad_alloc or lci::resource_error. Ends the job for
/// other exceptions, e.g. the failure of a process.
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
auto or_fail(const char* function, F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    fail_by_exception(function);
  }
}

}  // namespace ccs
