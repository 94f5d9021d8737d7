// The kernels of accumulates, and their locks.
#include "lib/layers/armci/atomicity.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "lci/config.hpp"
#include "lib/base/cpu.hpp"

namespace armci_layer {

void stripes::prepare() {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
  pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
  for (stripe& s : all_) {
    pthread_mutex_init(&s.mutex, &attributes);
    new (&s.counted) std::atomic<uint32_t>(0);
  }
  pthread_mutexattr_destroy(&attributes);
}

void lock_stripe(stripe& s) {
  int result = EBUSY;
  // A holder needs less than a microsecond, unless it has lost its processor.
  for (int i = 0; i < 50 && result == EBUSY; ++i) {
    result = pthread_mutex_trylock(&s.mutex);
    if (result == EBUSY) lci::cpu_pause();
  }
  if (result == EBUSY) result = pthread_mutex_lock(&s.mutex);
  // The holder has died: what it was adding is half done, but the memory is as usable as after any such death.
  if (result == EOWNERDEAD) pthread_mutex_consistent(&s.mutex);
}

stripe_guard::stripe_guard(stripe& s) : stripe_(s) { lock_stripe(s); }

namespace {

/// An element at any address.
template <class T>
struct __attribute__((packed, may_alias)) anywhere {
  T value;
};
template <class T>
T load(const void* p) {
  return static_cast<const anywhere<T>*>(p)->value;
}

// Each kernel of plain loops is compiled twice on x86-64: with its common instructions, and with wider ones that do the
// same operations in the same order on twice as many elements. (Not with fused ones, which round differently.)
#if defined(__x86_64__)
#define ARMCI_WIDE [[gnu::target("avx2")]]
bool has_wide() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}
#else
#define ARMCI_WIDE
bool has_wide() { return false; }
#endif

template <class T>
LCI_ALWAYS_INLINE inline void add_scaled_loop(void* to, const void* from, const void* scale, size_t n) {
  auto* __restrict t = static_cast<anywhere<T>*>(to);
  const auto* __restrict f = static_cast<const anywhere<T>*>(from);
  const T factor = load<T>(scale);
  for (size_t i = 0; i < n; ++i) t[i].value += factor * f[i].value;
}
template <class T>
ARMCI_WIDE void add_scaled_wide(void* to, const void* from, const void* scale, size_t n) {
  add_scaled_loop<T>(to, from, scale, n);
}
template <class T>
void add_scaled(void* to, const void* from, const void* scale, size_t n) {
  if (has_wide())
    add_scaled_wide<T>(to, from, scale, n);
  else
    add_scaled_loop<T>(to, from, scale, n);
}
/// Integers of stripes in which a read-modify-write has been.
template <class T>
void add_scaled_atomically(void* to, const void* from, const void* scale, size_t n) {
  if (reinterpret_cast<uintptr_t>(to) % sizeof(T) != 0) {  // such an element can't be a counter
    add_scaled<T>(to, from, scale, n);
    return;
  }
  const auto* f = static_cast<const anywhere<T>*>(from);
  const T factor = load<T>(scale);
  for (size_t i = 0; i < n; ++i)
    __atomic_fetch_add(static_cast<T*>(to) + i, static_cast<T>(factor * f[i].value), __ATOMIC_RELAXED);
}
template <class T>
LCI_ALWAYS_INLINE inline void add_scaled_complex_loop(void* to, const void* from, const void* scale, size_t n) {
  auto* __restrict t = static_cast<anywhere<T>*>(to);
  const auto* __restrict f = static_cast<const anywhere<T>*>(from);
  const auto* s = static_cast<const anywhere<T>*>(scale);
  const T real = s[0].value, imaginary = s[1].value;
  for (size_t i = 0; i < 2 * n; i += 2) {
    const T r = f[i].value, m = f[i + 1].value;
    t[i].value += real * r - imaginary * m;
    t[i + 1].value += real * m + imaginary * r;
  }
}
template <class T>
ARMCI_WIDE void add_scaled_complex_wide(void* to, const void* from, const void* scale, size_t n) {
  add_scaled_complex_loop<T>(to, from, scale, n);
}
template <class T>
void add_scaled_complex(void* to, const void* from, const void* scale, size_t n) {
  if (has_wide())
    add_scaled_complex_wide<T>(to, from, scale, n);
  else
    add_scaled_complex_loop<T>(to, from, scale, n);
}

// Integers are added without a sign, since they may wrap around.
void add(int type, const void* scale, void* to, const void* from, size_t n, bool atomically) {
  switch (type) {
    case ARMCI_ACC_INT:
      return atomically ? add_scaled_atomically<unsigned>(to, from, scale, n)
                        : add_scaled<unsigned>(to, from, scale, n);
    case ARMCI_ACC_LNG:
      return atomically ? add_scaled_atomically<unsigned long>(to, from, scale, n)
                        : add_scaled<unsigned long>(to, from, scale, n);
    case ARMCI_ACC_FLT:
      return add_scaled<float>(to, from, scale, n);
    case ARMCI_ACC_DBL:
      return add_scaled<double>(to, from, scale, n);
    case ARMCI_ACC_CPL:
      return add_scaled_complex<float>(to, from, scale, n);
    default:
      return add_scaled_complex<double>(to, from, scale, n);
  }
}

}  // namespace

void accumulation::add(std::byte* to, uint64_t owner_address, const std::byte* from, size_t bytes) {
  const size_t element = element_size(type_);
  while (bytes > 0) {
    stripe& s = locks_.of(owner_address);
    if (&s != held_ || left_ == 0) {
      guard_.reset();  // first: one lock at a time
      guard_.emplace(s);
      held_ = &s;
      left_ = stripes::block;
    }
    // An element that lies in two blocks belongs to the one of its first byte.
    const size_t in_block = stripes::block - owner_address % stripes::block;
    const size_t n = std::min(bytes, (in_block + element - 1) / element * element);
    armci_layer::add(type_, scale_, to, from, n / element, guard_->counted());
    left_ -= std::min(left_, n);
    to += n;
    from += n;
    owner_address += n;
    bytes -= n;
  }
}

}  // namespace armci_layer
