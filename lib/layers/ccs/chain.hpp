// An intrusive queue: each element contains the link to the next one.
#pragma once

#include <memory>
#include <utility>

namespace ccs {

/// A FIFO queue of objects with a member `next`. Owns the objects. Not thread-safe. push() allocates no memory, so it
/// can't fail.
template <class T>
class chain {
 public:
  chain() = default;
  chain(const chain&) = delete;
  chain& operator=(const chain&) = delete;
  ~chain() {
    while (!is_empty()) (void)pop();
  }

  bool is_empty() const { return first_ == nullptr; }
  /// Returns the first object. The queue must not be empty.
  const T& first() const { return *first_; }
  void push(std::unique_ptr<T> one) noexcept {
    T* const added = one.release();
    added->next = nullptr;
    if (last_ != nullptr)
      last_->next = added;
    else
      first_ = added;
    last_ = added;
  }
  /// Removes the first object. Returns null if the queue is empty.
  std::unique_ptr<T> pop() noexcept {
    return take_if([](const T&) { return true; });
  }
  /// Removes the first object for which `is_wanted` returns true. Returns null if there is none.
  template <class Wanted>
  std::unique_ptr<T> take_if(Wanted is_wanted) noexcept {
    T* before = nullptr;
    for (T* one = first_; one != nullptr; before = one, one = next_of(one)) {
      if (!is_wanted(*one)) continue;
      T* const behind = next_of(one);
      if (before != nullptr)
        before->next = behind;
      else
        first_ = behind;
      if (behind == nullptr) last_ = before;
      return std::unique_ptr<T>(one);
    }
    return nullptr;
  }
  void swap(chain& other) noexcept {
    std::swap(first_, other.first_);
    std::swap(last_, other.last_);
  }

 private:
  // A base class may declare `next`; hence the cast.
  static T* next_of(T* one) { return static_cast<T*>(one->next); }

  T* first_ = nullptr;
  T* last_ = nullptr;
};

}  // namespace ccs
