// Objects that are kept for reuse, with the buffers that they have.
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "lib/concurrent/spinlock.hpp"

namespace mercury {

/// Makes objects, and owns all that it has made. Thread-safe. As many exist as were in use at once.
template <class T>
class pool {
 public:
  /// A free object, or the one that make(n) makes, n being the number of objects before it.
  template <class Make>
  T* take(Make make) {
    std::lock_guard guard(lock_);
    if (free_.empty()) {
      if (all_.size() == all_.capacity()) all_.reserve(2 * all_.size() + 16);
      free_.reserve(all_.capacity());  // so that put() needs no memory
      all_.push_back(make(all_.size()));
      ++in_use_;
      return all_.back().get();
    }
    T* t = free_.back();
    free_.pop_back();
    ++in_use_;
    return t;
  }
  void put(T* t) {
    std::lock_guard guard(lock_);
    free_.push_back(t);
    --in_use_;
  }
  size_t in_use() const {
    std::lock_guard guard(lock_);
    return in_use_;
  }
  template <class F>
  void for_each(F&& f) {
    std::vector<T*> all;
    {
      std::lock_guard guard(lock_);
      for (auto& t : all_) all.push_back(t.get());
    }
    for (T* t : all) f(*t);
  }
  /// Gives up ownership of all, for objects that others may still use.
  void abandon() {
    std::lock_guard guard(lock_);
    for (auto& t : all_) [[maybe_unused]] T* leaked = t.release();
    all_.clear();
    free_.clear();
  }

 private:
  mutable lci::spinlock lock_;
  std::vector<std::unique_ptr<T>> all_;
  std::vector<T*> free_;
  size_t in_use_ = 0;
};

}  // namespace mercury
