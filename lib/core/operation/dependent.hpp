// Internal completion objects that stand in for a user's while several operations of a device are outstanding.
#pragma once

#include <mutex>
#include <unordered_set>
#include <utility>

#include "lci/completion.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "lib/core/wire/failure.hpp"

namespace lci::core {

/// What to signal for an operation that was still outstanding when its device was freed.
struct unfinished {
  comp_impl_t* comp;  // null: there is none, or it has been signalled
  status_t status;
};

/// Deletes itself when its operations have ended; if the device is freed before, the device deletes it.
class dependent : public comp_impl_t {
 public:
  /// Called when the operations will never complete. Returns what to signal; the caller then deletes this object.
  virtual unfinished abandon() = 0;

  // For an object in the backlog, which keeps its place before later posts to the same peer until all is posted.
  /// Posts what is left; `how` other than `none`: gives it up instead, as failed for that reason. Returns false if the
  /// network can't take all of it now. After true the object may be gone.
  virtual bool post_rest(failure how) { return (void)how, true; }
  /// The completion object by which a cancel finds the operation; null: it can't be cancelled.
  virtual const comp_impl_t* cancelled_as() const { return nullptr; }
};

/// The dependent objects of one device. Thread-safe. The device, when it is freed, deletes those that are left, since
/// nothing else will end them.
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
