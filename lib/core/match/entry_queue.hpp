// FIFO of the entries of one matching key that its bucket has no room for.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <utility>

#include "lib/base/cpu.hpp"

namespace lci::core {

/// A ring that doubles when it is full. Does not own the entries. Owned by a bucket of a matching engine, whose lock
/// protects it.
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
  /// Removes the entries for which `wanted(entry)` is true. Returns how many.
  template <class F>
  size_t remove_if(const F& wanted) {
    const size_t before = size_;
    for (size_t n = 0; n < before; ++n) {
      void* entry = pop();
      if (!wanted(entry)) push(entry);
    }
    return before - size_;
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
