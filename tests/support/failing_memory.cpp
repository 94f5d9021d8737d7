#include "tests/support/failing_memory.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

#include "lib/base/cpu.hpp"

namespace {

// Atomic, since a thread of the library may allocate while another one looks at the number of failures.
std::atomic<bool> armed{false};
std::atomic<size_t> from_size{0}, to_size{SIZE_MAX};
std::atomic<long> good_left{0}, bad_left{0}, failed{0};

bool fails(size_t size) {
  if (!armed.load(std::memory_order_acquire) || size < from_size || size > to_size) return false;
  if (good_left > 0 && good_left-- > 0) return false;
  if (bad_left <= 0 || bad_left-- <= 0) return false;
  ++failed;
  return true;
}

void* get(size_t size) {
  void* p = fails(size) ? nullptr : std::malloc(size);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}
void* try_aligned(size_t size, std::align_val_t alignment) noexcept {
  const auto a = static_cast<size_t>(alignment);
  return fails(size) ? nullptr : std::aligned_alloc(a, (size + a - 1) / a * a);
}
void* get_aligned(size_t size, std::align_val_t alignment) {
  void* p = try_aligned(size, alignment);
  if (p == nullptr) throw std::bad_alloc();
  return p;
}

}  // namespace

// Not inline, as this file may be compiled together with others: the compiler would see free() of memory from
// operator new.
LCI_NOINLINE void* operator new(size_t size) { return get(size); }
LCI_NOINLINE void* operator new[](size_t size) { return get(size); }
LCI_NOINLINE void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return fails(size) ? nullptr : std::malloc(size);
}
LCI_NOINLINE void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return fails(size) ? nullptr : std::malloc(size);
}
LCI_NOINLINE void* operator new(size_t size, std::align_val_t alignment) { return get_aligned(size, alignment); }
LCI_NOINLINE void* operator new[](size_t size, std::align_val_t alignment) { return get_aligned(size, alignment); }
LCI_NOINLINE void* operator new(size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return try_aligned(size, alignment);
}
LCI_NOINLINE void* operator new[](size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return try_aligned(size, alignment);
}
LCI_NOINLINE void operator delete(void* p) noexcept { std::free(p); }
LCI_NOINLINE void operator delete[](void* p) noexcept { std::free(p); }
LCI_NOINLINE void operator delete(void* p, size_t) noexcept { std::free(p); }
LCI_NOINLINE void operator delete[](void* p, size_t) noexcept { std::free(p); }
LCI_NOINLINE void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
LCI_NOINLINE void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
LCI_NOINLINE void operator delete(void* p, size_t, std::align_val_t) noexcept { std::free(p); }
LCI_NOINLINE void operator delete[](void* p, size_t, std::align_val_t) noexcept { std::free(p); }

namespace lci_test {

failing_memory::failing_memory(size_t smallest, long good, long bad, size_t largest) {
  from_size = smallest;
  to_size = largest;
  good_left = good;
  bad_left = bad;
  failed = 0;
  armed.store(true, std::memory_order_release);
}
failing_memory::~failing_memory() { armed.store(false, std::memory_order_release); }

long failing_memory::failures() { return failed; }

}  // namespace lci_test
