// Numbers by which C programs name objects of a layer.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

#include "lib/concurrent/mpmc_array.hpp"
#include "lib/concurrent/spinlock.hpp"

namespace layers {

/// Maps numbers to objects of class T, which has a member `uint64_t number`. The low 32 bits of a number are an index
/// of the table; the high 32 bits are a generation, so that objects with the same index have different numbers. So the
/// table detects numbers of removed objects and invented numbers, and reads no memory that they could point to. Numbers
/// are at least 2^32 and less than 2^63. Does not own the objects. Thread-safe; find() takes no lock.
template <class T>
class number_table {
 public:
  /// Returns the object with this number, or null.
  T* find(uint64_t number) const {
    T* const object = all_.get(place_of(number));
    return object != nullptr && object->number == number ? object : nullptr;
  }
  /// Gives the object a number. Throws std::bad_alloc.
  void add(T* object) {
    const std::lock_guard guard(lock_);
    if (free_.empty()) {
      if (free_.capacity() <= n_) free_.reserve(size_t{2} * n_ + 16);  // so that remove() allocates nothing
      free_.push_back(n_++);
    }
    const uint32_t place = free_.back();
    object->number = (generations.fetch_add(1, std::memory_order_relaxed) % highest + 1) << 32 | place;
    all_.put(place, object);
    free_.pop_back();
  }
  /// Makes the number invalid and returns its object, or null if the table has no such number.
  T* remove(uint64_t number) {
    const std::lock_guard guard(lock_);
    T* const object = find(number);
    if (object == nullptr) return nullptr;
    all_.put(place_of(number), nullptr);
    free_.push_back(place_of(number));
    return object;
  }
  /// Calls f(object) for each object. Not while other threads use the table.
  template <class F>
  void for_each(F f) const {
    for (uint32_t place = 0; place < n_; ++place)
      if (T* const object = all_.get(place)) f(object);
  }

 private:
  static constexpr uint64_t highest = 0x7fffffff;  // of the high half
  static inline std::atomic<uint64_t> generations{0};
  static uint32_t place_of(uint64_t number) { return static_cast<uint32_t>(number); }

  lci::mpmc_array<T*> all_;
  lci::spinlock lock_;
  std::vector<uint32_t> free_;  // places without an object; under lock_
  uint32_t n_ = 0;              // places that have ever been used; under lock_
};

}  // namespace layers
