// A pool of objects that are reused, together with their buffers.
#pragma once

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "lib/concurrent/biased_lock.hpp"

namespace mercury {

/// Creates and owns objects. Thread-safe. The number of objects is the largest number that was in use at once.
template <class T>
class pool {
 public:
  /// Takes a free object. If there is none, creates one with make(n), where n is the number of existing objects.
  template <class Make>
  T* take(Make make) {
    return take(make, [](T&) {});
  }
  /// The same; calls taken(object) under the pool's lock.
  template <class Make, class Taken>
  T* take(Make make, Taken taken) {
    std::lock_guard guard(lock_);
    T* const t = take_locked(make);
    taken(*t);
    return t;
  }
  void put(T* t) {
    std::lock_guard guard(lock_);
    put_locked(t);
  }
  /// Puts the object if `is_free()`, which runs under the pool's lock.
  template <class IsFree>
  bool put_if(T* t, IsFree is_free) {
    std::lock_guard guard(lock_);
    if (!is_free()) return false;
    put_locked(t);
    return true;
  }
  template <class F>
  auto under_lock(F f) {
    std::lock_guard guard(lock_);
    return f();
  }
  size_t in_use() const {
    std::lock_guard guard(lock_);
    return in_use_;
  }
  /// Calls f() with each object, without the lock. Needs no memory.
  template <class F>
  void for_each(F&& f) const {
    for (size_t i = 0;; ++i) {
      T* t = nullptr;
      {
        std::lock_guard guard(lock_);
        if (i >= all_.size()) return;
        t = all_[i].get();
      }
      f(*t);
    }
  }
  /// Gives up ownership of all objects without freeing them, as other code may still use them.
  void abandon() {
    std::lock_guard guard(lock_);
    for (auto& t : all_) [[maybe_unused]] T* leaked = t.release();
    all_.clear();
    free_.clear();
  }
  /// Gives up ownership of the objects in use without freeing them, and calls f() with each: the program may still pass
  /// their addresses to functions, which then detect that.
  template <class F>
  void abandon_used(F f) {
    std::lock_guard guard(lock_);
    std::sort(free_.begin(), free_.end());
    for (auto& t : all_)
      if (!std::binary_search(free_.begin(), free_.end(), t.get())) f(*t.release());
  }

 private:
  template <class Make>
  T* take_locked(Make& make) {
    if (free_.empty()) {
      if (all_.size() == all_.capacity()) all_.reserve(2 * all_.size() + 16);
      free_.reserve(all_.capacity());  // so that put() can't fail
      all_.push_back(make(all_.size()));
      ++in_use_;
      return all_.back().get();
    }
    T* t = free_.back();
    free_.pop_back();
    ++in_use_;
    return t;
  }
  void put_locked(T* t) {
    free_.push_back(t);
    --in_use_;
  }

  mutable lci::biased_lock lock_;
  std::vector<std::unique_ptr<T>> all_;
  std::vector<T*> free_;
  size_t in_use_ = 0;
};

}  // namespace mercury
