// Errors of ARMCI's functions: a line of text, and a code or the end of the job.
#pragma once

#include <exception>
#include <new>
#include <stdexcept>
#include <string>

#include "armci/armci_types.h"
#include "lci/errors.hpp"
#include "lib/base/insist_on_memory.hpp"

namespace armci_layer {

constexpr int internal_failure = FAIL6, peer_failure = FAIL7;

/// What a function of the interface reports. Thrown below it, caught at the interface.
class error : public std::runtime_error {
 public:
  error(int code, const std::string& text) : std::runtime_error(text), code_(code) {}
  int code() const { return code_; }

 private:
  int code_;
};

/// Prints "armci: <function>: <text>" in one line to standard error.
[[gnu::cold, gnu::noinline]] void say(const char* function, const char* text) noexcept;
/// Says it, and ends the job.
[[noreturn, gnu::cold, gnu::noinline]] void end_job(const char* function, const char* text, int code) noexcept;
/// Ends the job with a code other than 0, also without memory.
[[noreturn, gnu::cold, gnu::noinline]] void abort_job(const char* text, int code) noexcept;
/// Ends a function that has no result.
[[noreturn, gnu::cold, gnu::noinline]] void misuse(const char* function, const std::string& text) noexcept;

/// Returns what f() returns. If f() throws because there is no memory, it is called again, up to lci::memory_tries
/// times in all. A call of f() that throws must have had no effect.
template <class F>
decltype(auto) insist(F&& f) {
  for (int n = 1;; ++n) {
    try {
      return f();
    } catch (const std::bad_alloc&) {
      if (n == lci::memory_tries) throw;
    } catch (const lci::resource_error&) {
      if (n == lci::memory_tries) throw;
    }
    lci::await_memory();
  }
}

/// The same for a part of a collective operation. Ends the job if there is still no memory: the other processes wait
/// for this one, and can't learn that it has failed.
template <class F>
decltype(auto) insist_for_others(F&& f) {
  try {
    return insist(f);
  } catch (const error&) {
    throw;
  } catch (const std::exception& e) {
    end_job("a collective operation", e.what(), -internal_failure);
  }
}

/// Returns what f() returns, or the code of what f() throws.
template <class F>
int or_code(const char* function, F&& f) noexcept {
  try {
    return f();
  } catch (const error& e) {
    say(function, e.what());
    return e.code();
  } catch (const std::bad_alloc&) {
    say(function, "no memory is left");
  } catch (const std::exception& e) {
    say(function, e.what());
  }
  return internal_failure;
}

/// Returns what f() returns. Ends the job if f() throws.
template <class F>
auto or_end(const char* function, F&& f) noexcept {
  try {
    return f();
  } catch (const error& e) {
    end_job(function, e.what(), -e.code());
  } catch (const std::bad_alloc&) {
    end_job(function, "no memory is left", -internal_failure);
  } catch (const std::exception& e) {
    end_job(function, e.what(), -internal_failure);
  }
}

}  // namespace armci_layer
