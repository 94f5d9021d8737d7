// Completion objects of the core's own that stand for one of the user's while operations of a device are under way.
#pragma once

#include <mutex>
#include <unordered_set>
#include <utility>

#include "lci/completion.hpp"
#include "lib/concurrent/spinlock.hpp"

namespace lci::core {

/// What an operation's user is told that the network has not ended when its device was freed.
struct unfinished {
  comp_impl_t* comp;  // null: nobody waits, or was told before
  status_t status;
};

/// Owned by itself until its operations have ended, or by the device if that is freed before.
class dependent : public comp_impl_t {
 public:
  /// The operations will not end any more: whom to tell of it. The caller deletes this object next.
  virtual unfinished give_up() = 0;
};

/// Those of one device. Thread-safe. When the device is freed it deletes those that are left: nothing else will end
/// them then.
class dependents {
 public:
  void add(dependent* c) {
    std::lock_guard guard(lock_);
    all_.insert(c);
  }
  void remove(dependent* c) {
    std::lock_guard guard(lock_);
    all_.erase(c);
  }
  bool contains(const comp_impl_t* c) const {
    std::lock_guard guard(lock_);
    return all_.count(const_cast<comp_impl_t*>(c)) != 0;
  }
  /// All that are left; they are the caller's, and remove() of them does nothing.
  std::unordered_set<comp_impl_t*> take() {
    std::lock_guard guard(lock_);
    return std::exchange(all_, {});
  }

 private:
  mutable spinlock lock_;
  std::unordered_set<comp_impl_t*> all_;  // each a `dependent`; under lock_
};

}  // namespace lci::core
