// The values of a signal_array.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

namespace lci {

/// A fixed array. One that is large is address space until its elements are written: a program may ask for as many as
/// its limits allow. Accessed as its owner prescribes.
template <class T>
class signal_slots {
 public:
  /// Throws std::bad_alloc.
  explicit signal_slots(size_t n) {
    constexpr bool plain = std::is_trivially_default_constructible_v<T> && std::is_trivially_destructible_v<T>;
    if (!plain || n < least_mapped / sizeof(T)) {
      at_ = new T[n];
      return;
    }
    if (n > PTRDIFF_MAX / sizeof(T)) throw std::bad_alloc();
    mapped_ = n * sizeof(T);
    void* const p = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    at_ = static_cast<T*>(p);
  }
  ~signal_slots() {
    if (mapped_ > 0)
      munmap(at_, mapped_);
    else
      delete[] at_;
  }
  signal_slots(const signal_slots&) = delete;
  signal_slots& operator=(const signal_slots&) = delete;

  T& operator[](size_t i) { return at_[i]; }

 private:
  static constexpr size_t least_mapped = size_t{1} << 20;

  T* at_ = nullptr;
  size_t mapped_ = 0;
};

}  // namespace lci
