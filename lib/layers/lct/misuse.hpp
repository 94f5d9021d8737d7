// Error handling of functions with C linkage, which must not throw: they print a line and end the process.
#pragma once

#include <cerrno>
#include <cstdint>
#include <exception>
#include <new>

#include "lib/layers/common/c_object.hpp"

namespace lct {

/// Prints "lct: <function>: <text>" in one line and ends the process with status 1. Allocates nothing.
[[noreturn, gnu::cold, gnu::noinline, gnu::format(printf, 2, 3)]] void fail(const char* function, const char* format,
                                                                            ...) noexcept;

/// Returns f(); ends the process if it throws.
template <class F>
auto or_fail(const char* function, F&& f) noexcept {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    fail(function, "no memory is left");
  } catch (const std::exception& e) {
    fail(function, "%s", e.what());
  }
}

/// Returns the object that f() allocates; null with errno ENOMEM if there is no memory. Ends the process for other
/// exceptions.
template <class F>
auto or_null(const char* function, F&& f) noexcept -> decltype(f()) {
  try {
    return f();
  } catch (const std::bad_alloc&) {
    errno = ENOMEM;
    return nullptr;
  } catch (const std::exception& e) {
    fail(function, "%s", e.what());
  }
}

template <uint32_t Kind>
using object = layers::c_object<Kind>;

/// The object behind a user's pointer. `what` is e.g. "a queue".
template <class T>
T& get(const char* function, const char* what, void* pointer) {
  T* t = static_cast<T*>(pointer);
  if (__builtin_expect(t == nullptr, 0))
    fail(function, "NULL is not %s: allocate one, and check that this has not returned NULL", what);
  if (__builtin_expect(!t->is_alive(), 0))
    fail(function, "%p is not %s: it has been freed, or is something else", pointer, what);
  return *t;
}

/// Frees *pointer and sets it to NULL; does nothing if it is NULL.
template <class T>
void release(const char* function, const char* what, void** pointer) {
  if (pointer == nullptr) fail(function, "the argument is NULL, but must be the address of %s", what);
  if (*pointer == nullptr) return;
  delete &get<T>(function, what, *pointer);
  *pointer = nullptr;
}

/// Ends the program if a required pointer argument is null.
inline void require(const char* function, const char* argument, const void* value) {
  if (__builtin_expect(value == nullptr, 0)) fail(function, "%s is NULL, but must not be", argument);
}

}  // namespace lct
