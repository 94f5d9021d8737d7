// A table that gives objects numbers, by which other processes refer to them.
#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "lib/concurrent/spinlock.hpp"

namespace ccs {

/// Maps numbers to objects. A number is never reused, so a stale or invented one is detected. Does not own the objects.
/// Thread-safe.
template <class T>
class slots {
 public:
  /// Throws std::bad_alloc.
  uint64_t add(T* object) {
    std::lock_guard guard(lock_);
    uint32_t at = free_;
    if (at == none) {
      at = static_cast<uint32_t>(all_.size());
      all_.push_back({});
    } else {
      free_ = all_[at].next;
    }
    all_[at].object = object;
    return uint64_t{++all_[at].generation} << 32 | at;
  }
  /// The object with this number; null if there is none.
  T* find(uint64_t number) {
    std::lock_guard guard(lock_);
    slot* s = slot_of(number);
    return s == nullptr ? nullptr : s->object;
  }
  /// The object with this number, which becomes invalid; null if there is none.
  T* take(uint64_t number) {
    std::lock_guard guard(lock_);
    slot* s = slot_of(number);
    if (s == nullptr) return nullptr;
    T* const object = s->object;
    s->object = nullptr;
    s->next = free_;
    free_ = static_cast<uint32_t>(number);
    return object;
  }

 private:
  static constexpr uint32_t none = ~uint32_t{0};
  struct slot {
    T* object = nullptr;
    uint32_t generation = 0, next = none;
  };
  slot* slot_of(uint64_t number) {
    const auto at = static_cast<uint32_t>(number);
    if (at >= all_.size() || all_[at].generation != number >> 32 || all_[at].object == nullptr) return nullptr;
    return &all_[at];
  }
  lci::spinlock lock_;
  std::vector<slot> all_;
  uint32_t free_ = none;
};

}  // namespace ccs
