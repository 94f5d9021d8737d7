// Errors of functions with C linkage: a line on standard error and a code.
#pragma once

#include <mercury_types.h>

#include <cstdint>
#include <exception>
#include <new>

#include "lib/layers/common/c_object.hpp"

namespace mercury {

/// Prints "mercury: <function>: <text>" in one line; returns `code`.
[[gnu::cold, gnu::noinline, gnu::format(printf, 3, 4)]] hg_return_t fail(hg_return_t code, const char* function,
                                                                         const char* format, ...) noexcept;

/// Converts an error of NA to HG's code: HG_NOMEM_ERROR if there was no memory, else `otherwise`.
inline hg_return_t code_for(na_return_t error, hg_return_t otherwise) {
  return error == NA_NOMEM_ERROR ? HG_NOMEM_ERROR : otherwise;
}

/// Returns f(). If it throws, prints the exception's text and returns an error code.
template <class F>
hg_return_t guarded(const char* function, F&& f) noexcept {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    return fail(HG_NOMEM_ERROR, function, "no memory is left");
  } catch (const std::exception& e) {
    return fail(HG_FAIL, function, "%s", e.what());
  }
}

template <uint32_t Kind>
using object = layers::c_object<Kind>;

/// The object behind a pointer of the program. Prints a line and returns null if it is invalid. `what` names the
/// expected object in that line, e.g. "a request".
template <class T>
T* get(const char* function, const char* what, void* pointer) noexcept {
  T* t = static_cast<T*>(pointer);
  if (__builtin_expect(t == nullptr, 0)) {
    fail(HG_FAIL, function, "NULL is not %s: check that the call that should have made one has succeeded", what);
    return nullptr;
  }
  if (__builtin_expect(!t->is_alive(), 0)) {
    fail(HG_FAIL, function, "%p is not %s: it has been freed, or is something else", pointer, what);
    return nullptr;
  }
  return t;
}

}  // namespace mercury
