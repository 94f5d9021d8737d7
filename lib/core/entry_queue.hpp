// The entries of one matching key beyond those that its bucket holds itself: first in, first out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "lib/base/cpu.hpp"

namespace lci::core {

/// A ring that doubles when it is full. Used under its bucket's lock.
class entry_queue {
 public:
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  size_t capacity() const { return capacity_; }
  void* front() const { return items_[head_]; }
  void* operator[](size_t i) const { return items_[(head_ + i) & (capacity_ - 1)]; }

  void push(void* value) {
    if (LCI_UNLIKELY(size_ == capacity_)) grow();
    items_[(head_ + size_++) & (capacity_ - 1)] = value;
  }
  void* pop() {
    void* value = items_[head_];
    head_ = (head_ + 1) & (capacity_ - 1);
    --size_;
    return value;
  }
  /// Takes out the first entry that is `value`; false if none is.
  bool remove(void* value) {
    size_t at = 0;
    while (at < size_ && (*this)[at] != value) ++at;
    if (at == size_) return false;
    for (; at + 1 < size_; ++at) items_[(head_ + at) & (capacity_ - 1)] = (*this)[at + 1];
    --size_;
    return true;
  }

 private:
  LCI_COLD void grow() {
    const size_t larger = capacity_ == 0 ? 8 : 2 * capacity_;
    auto items = std::make_unique<void*[]>(larger);
    for (size_t i = 0; i < size_; ++i) items[i] = (*this)[i];
    items_ = std::move(items);
    capacity_ = larger;
    head_ = 0;
  }

  std::unique_ptr<void*[]> items_;
  size_t capacity_ = 0;  // 0 or a power of two
  size_t head_ = 0;
  size_t size_ = 0;
};

}  // namespace lci::core
