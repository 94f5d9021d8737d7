// A growing array that is read without locks and written under a lock (paper 4.1.1).
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <mutex>
#include <new>
#include <type_traits>

#include "lib/base/cpu.hpp"
#include "lib/concurrent/spinlock.hpp"

namespace lci {

/// Thread-safe. T is a pointer or another type that fits one atomic word. Owns its slabs; outgrown ones are not freed
/// before destruction (sizes double, so together they are no larger than the last), because a
/// reader may still use one.
///
/// Memory orders. A slab is filled before R1 publishes it, so a reader that got it from A1 sees its
/// header and at least the items of that time. An item written later is published by R2 and read
/// by A2, together with what it points to. A reader that still has an outgrown slab sees no items
/// that were written after the next slab was published: it reads as if it had come earlier. If the
/// write of an item happens before the read through other synchronization (a message, a lock), A1 gives
/// the reader the new slab.
template <class T, template <class> class Atom = std::atomic>
class mpmc_array {
 public:
  /// Items not yet written read as `blank`.
  explicit mpmc_array(size_t initial = 16, T blank = T{}) : blank_(blank) {
    current_.store(make(std::bit_ceil(initial < 1 ? size_t{1} : initial)), std::memory_order_relaxed);
  }
  ~mpmc_array() {
    for (slab* s = current_.load(std::memory_order_relaxed); s;) {
      slab* outgrown = s->outgrown;
      for (size_t i = 0; i <= s->mask; ++i) s->items()[i].~Atom<T>();
      ::operator delete(s);
      s = outgrown;
    }
  }
  mpmc_array(const mpmc_array&) = delete;
  mpmc_array& operator=(const mpmc_array&) = delete;

  /// The value at `index`, or the blank if nothing was written there. Lock-free.
  T get(size_t index) const {
    const slab* s = current_.load(std::memory_order_acquire);  // A1: pairs with R1 in at_least()
    return LCI_LIKELY(index <= s->mask) ? s->items()[index].load(std::memory_order_acquire) : blank_;  // A2
  }

  /// The value at `index`, or that of another index if `index` is beyond the array. For callers
  /// whose values hold their index: saves the comparison with the size. Lock-free.
  T get_wrapped(size_t index) const {
    const slab* s = current_.load(std::memory_order_acquire);            // A1
    return s->items()[index & s->mask].load(std::memory_order_acquire);  // A2
  }

  void put(size_t index, T value) {
    std::lock_guard guard(lock_);
    at_least(index + 1)->items()[index].store(value, std::memory_order_release);  // R2: A2
    if (index >= size_) size_ = index + 1;
  }

  /// Writes to the next unused index and returns it.
  size_t append(T value) {
    std::lock_guard guard(lock_);
    at_least(size_ + 1)->items()[size_].store(value, std::memory_order_release);  // R2: A2
    return size_++;
  }

  /// One past the largest index written.
  size_t size() const {
    std::lock_guard guard(lock_);
    return size_;
  }

 private:
  // Followed in memory by its items, which saves readers an indirection.
  struct slab {
    size_t mask;     // size - 1; the size is a power of two
    slab* outgrown;  // the previous one, at most half as large
    Atom<T>* items() { return reinterpret_cast<Atom<T>*>(this + 1); }
    const Atom<T>* items() const { return reinterpret_cast<const Atom<T>*>(this + 1); }
  };
  static_assert(alignof(Atom<T>) <= alignof(slab));

  slab* make(size_t n) {
    void* memory = ::operator new(sizeof(slab) + n * sizeof(Atom<T>));
    slab* s = new (memory) slab{n - 1, current_.load(std::memory_order_relaxed)};
    for (size_t i = 0; i < n; ++i) new (&s->items()[i]) Atom<T>(blank_);
    return s;
  }

  slab* at_least(size_t n) {  // under lock_
    slab* s = current_.load(std::memory_order_relaxed);
    if (n <= s->mask + 1) return s;
    slab* t = make(std::bit_ceil(n));
    for (size_t i = 0; i <= s->mask; ++i)
      t->items()[i].store(s->items()[i].load(std::memory_order_relaxed), std::memory_order_relaxed);
    current_.store(t, std::memory_order_release);  // R1: pairs with A1 in get()
    return t;
  }

  const T blank_;
  Atom<slab*> current_{nullptr};
  mutable basic_spinlock<Atom> lock_;
  size_t size_ = 0;  // under lock_
};

}  // namespace lci
