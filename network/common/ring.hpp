// A queue in an array, for which space can be reserved ahead.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

namespace lci::network {

/// A FIFO queue. Owns its entries. Not thread-safe. push_back() allocates only beyond the reserved space.
template <class T>
class ring {
 public:
  size_t size() const { return size_; }
  const T& operator[](size_t i) const { return entries_[(first_ + i) % capacity_]; }
  /// Ensures space for `n` entries altogether. Throws std::bad_alloc, and has no effect then.
  void reserve(size_t n) {
    if (n <= capacity_) return;
    const size_t capacity = n > 2 * capacity_ ? n : 2 * capacity_;
    std::unique_ptr<T[]> larger(new T[capacity]);
    for (size_t i = 0; i < size_; ++i) larger[i] = std::move(entries_[(first_ + i) % capacity_]);
    entries_ = std::move(larger);
    capacity_ = capacity;
    first_ = 0;
  }
  void push_back(T one) {
    reserve(size_ + 1);
    entries_[(first_ + size_++) % capacity_] = std::move(one);
  }
  /// Requires that the ring is not empty.
  T pop_front() {
    T one = std::move(entries_[first_]);
    first_ = (first_ + 1) % capacity_;
    --size_;
    return one;
  }

 private:
  std::unique_ptr<T[]> entries_;
  size_t capacity_ = 0, first_ = 0, size_ = 0;
};

}  // namespace lci::network
