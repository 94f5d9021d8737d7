// Wraps the functions that allocate: symbols of an executable take precedence over those of libraries.
#include <dlfcn.h>

#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <new>

#include "tests/sweep/faults.hpp"

namespace {

/// The wrapped function of the C library, or of a sanitizer.
template <class F>
SWEEP_UNCHECKED F* behind(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}

SWEEP_UNCHECKED bool fails() {
  if (sweep::count(sweep::call::alloc) == 0) return false;
  errno = ENOMEM;
  return true;
}

}  // namespace

extern "C" {

SWEEP_UNCHECKED void* malloc(size_t size) {
  static auto* const real = behind<void*(size_t)>("malloc");
  return fails() ? nullptr : real(size);
}
SWEEP_UNCHECKED void* calloc(size_t n, size_t size) {
  static auto* const real = behind<void*(size_t, size_t)>("calloc");
  return fails() ? nullptr : real(n, size);
}
SWEEP_UNCHECKED void* realloc(void* old, size_t size) {
  static auto* const real = behind<void*(void*, size_t)>("realloc");
  return fails() ? nullptr : real(old, size);
}
SWEEP_UNCHECKED void* aligned_alloc(size_t alignment, size_t size) {
  static auto* const real = behind<void*(size_t, size_t)>("aligned_alloc");
  return fails() ? nullptr : real(alignment, size);
}
SWEEP_UNCHECKED int posix_memalign(void** memory, size_t alignment, size_t size) {
  static auto* const real = behind<int(void**, size_t, size_t)>("posix_memalign");
  return fails() ? ENOMEM : real(memory, alignment, size);
}

}  // extern "C"

// Without a sanitizer, `new` is that of the C++ library, which calls malloc().
#ifdef __SANITIZE_ADDRESS__

SWEEP_UNCHECKED void* operator new(size_t size) {
  static auto* const real = behind<void*(size_t)>("_Znwm");
  if (fails()) throw std::bad_alloc();
  return real(size);
}
SWEEP_UNCHECKED void* operator new[](size_t size) {
  static auto* const real = behind<void*(size_t)>("_Znam");
  if (fails()) throw std::bad_alloc();
  return real(size);
}
SWEEP_UNCHECKED void* operator new(size_t size, const std::nothrow_t& t) noexcept {
  static auto* const real = behind<void*(size_t, const std::nothrow_t&)>("_ZnwmRKSt9nothrow_t");
  return fails() ? nullptr : real(size, t);
}
SWEEP_UNCHECKED void* operator new[](size_t size, const std::nothrow_t& t) noexcept {
  static auto* const real = behind<void*(size_t, const std::nothrow_t&)>("_ZnamRKSt9nothrow_t");
  return fails() ? nullptr : real(size, t);
}
SWEEP_UNCHECKED void* operator new(size_t size, std::align_val_t alignment) {
  static auto* const real = behind<void*(size_t, std::align_val_t)>("_ZnwmSt11align_val_t");
  if (fails()) throw std::bad_alloc();
  return real(size, alignment);
}
SWEEP_UNCHECKED void* operator new[](size_t size, std::align_val_t alignment) {
  static auto* const real = behind<void*(size_t, std::align_val_t)>("_ZnamSt11align_val_t");
  if (fails()) throw std::bad_alloc();
  return real(size, alignment);
}
SWEEP_UNCHECKED void* operator new(size_t size, std::align_val_t alignment, const std::nothrow_t& t) noexcept {
  static auto* const real =
      behind<void*(size_t, std::align_val_t, const std::nothrow_t&)>("_ZnwmSt11align_val_tRKSt9nothrow_t");
  return fails() ? nullptr : real(size, alignment, t);
}
SWEEP_UNCHECKED void* operator new[](size_t size, std::align_val_t alignment, const std::nothrow_t& t) noexcept {
  static auto* const real =
      behind<void*(size_t, std::align_val_t, const std::nothrow_t&)>("_ZnamSt11align_val_tRKSt9nothrow_t");
  return fails() ? nullptr : real(size, alignment, t);
}

#endif
