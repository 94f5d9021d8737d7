// How functions with C linkage find fault, where no exception may pass: a line of text, and the process's end.
#pragma once

#include <cerrno>
#include <cstdint>
#include <exception>
#include <new>

namespace lct {

/// Prints "lct: <function>: <text>" in one line and ends the process with status 1. Allocates nothing.
[[noreturn, gnu::cold, gnu::noinline, gnu::format(printf, 2, 3)]] void fail(const char* function, const char* format,
                                                                           ...) noexcept;

/// What f() returns; what it throws is the end.
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

/// What f() allocates, or null with errno ENOMEM.
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

/// Base of what users have a void* of, so that a pointer to something else is noticed.
template <uint32_t Kind>
class object {
 public:
  static constexpr uint32_t kind = Kind;
  object() = default;
  object(const object&) = delete;
  object& operator=(const object&) = delete;
  bool is_alive() const { return kind_ == Kind; }

 protected:
  ~object() { kind_ = 0; }

 private:
  volatile uint32_t kind_ = Kind;  // volatile: written also when the object ends
};

/// The object behind a user's pointer. `what` is e.g. "a queue".
template <class T>
T& get(const char* function, const char* what, void* pointer) {
  T* t = static_cast<T*>(pointer);
  if (__builtin_expect(t == nullptr, 0))
    fail(function, "NULL is not %s: allocate one, and look whether that has returned NULL", what);
  if (__builtin_expect(!t->is_alive(), 0))
    fail(function, "%p is not %s: it has been freed, or is something else", pointer, what);
  return *t;
}

/// Frees what *pointer has and makes it NULL, which may be what it is.
template <class T>
void release(const char* function, const char* what, void** pointer) {
  if (pointer == nullptr) fail(function, "the argument is NULL, but must be the address of %s", what);
  if (*pointer == nullptr) return;
  delete &get<T>(function, what, *pointer);
  *pointer = nullptr;
}

/// For arguments that must not be null.
inline void require(const char* function, const char* argument, const void* value) {
  if (__builtin_expect(value == nullptr, 0)) fail(function, "%s is NULL, but must not be", argument);
}

}  // namespace lct
