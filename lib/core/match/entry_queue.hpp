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
  bool empty() const { return head_ == tail_; }
  size_t size() const { return tail_ - head_; }
  size_t capacity() const { return capacity_; }
  void* front() const { return (*this)[0]; }
  void* operator[](size_t i) const { return items_[(head_ + i) & (capacity_ - 1)]; }

  void push(void* value) {
    if (LCI_UNLIKELY(size() == capacity_)) grow();
    items_[tail_++ & (capacity_ - 1)] = value;
  }
  /// Returns false if it would have to grow.
  bool try_push(void* value) {
    if (LCI_UNLIKELY(size() == capacity_)) return false;
    items_[tail_++ & (capacity_ - 1)] = value;
    return true;
  }
  void* pop() { return items_[head_++ & (capacity_ - 1)]; }
  /// Removes the entries for which `wanted(entry)` is true. Returns how many.
  template <class F>
  size_t remove_if(const F& wanted) {
    const size_t before = size();
    for (size_t n = 0; n < before; ++n) {
      void* entry = pop();
      if (!wanted(entry)) push(entry);
    }
    return before - size();
  }

 private:
  LCI_COLD void grow() {
    const size_t larger = capacity_ == 0 ? 8 : 2 * capacity_;
    auto items = std::make_unique<void*[]>(larger);
    const size_t n = size();
    for (size_t i = 0; i < n; ++i) items[i] = (*this)[i];
    items_ = std::move(items);
    capacity_ = larger;
    head_ = 0;
    tail_ = n;
  }

  std::unique_ptr<void*[]> items_;
  size_t capacity_ = 0;  // 0 or a power of two
  size_t head_ = 0;      // number of the oldest entry; its place is that modulo the capacity, as of all others
  size_t tail_ = 0;      // number of the next one
};

}  // namespace lci::core
