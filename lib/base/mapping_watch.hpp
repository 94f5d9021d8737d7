// Detects changes of the pages behind addresses: memory that any code has unmapped, mapped over, moved, or
// returned to the system. Uses userfaultfd; docs/decisions/0012 says why.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "lib/base/interval_tree.hpp"

namespace lci {

/// One per process. Does not own ranges; their users add and remove each by one thread at a time. Thread-safe.
///
/// The kernel blocks a thread that changes the mapping of a watched range until the watch's own thread has
/// read the event, which it does with the lock held. Thus a thread that takes the lock after a change has
/// returned finds the change recorded.
///
/// A thread that holds the lock and changes a mapping, or frees memory, would wait for the watch's thread,
/// which waits for the lock. So no memory is allocated or freed under the lock, and no foreign code runs.
class mapping_watch {
 public:
  class subscriber {
    friend class mapping_watch;
    bool changes_ = false;  // under the lock
  };

  class range : interval {
   public:
    /// After a call of take_changes() or unchanged(), includes all changes made before that call.
    bool changed() const { return changed_.load(std::memory_order_relaxed); }

   private:
    friend class mapping_watch;
    subscriber* whose_ = nullptr;
    bool watched_ = false;  // in the tree; under the lock
    // Written under the lock. Also read without it: no other data is read because of it, and a thread
    // that has held the lock since the write sees it.
    std::atomic<bool> changed_{false};
  };

  /// The process's watch, destroyed with the last reference; null if the system does not support it, with the reason
  /// in `why_not`.
  static std::shared_ptr<mapping_watch> get(std::string& why_not);
  ~mapping_watch();
  mapping_watch(const mapping_watch&) = delete;
  mapping_watch& operator=(const mapping_watch&) = delete;

  /// Watches the pages of [base, base + size) from now on. Returns false if this memory can't be watched.
  bool add(range& r, subscriber& whose, const void* base, size_t size);
  /// Removes a range for which add() returned true, changed or not.
  void remove(range& r);
  /// Returns whether a range of this subscriber has changed since its last call.
  bool take_changes(subscriber& whose);
  /// Returns true if the pages of `r` are mapped as they were when it was added; includes changes that other threads
  /// have just made. Makes system calls; false also if the kernel gives no clear answer after a few tries.
  bool unchanged(const range& r);

 private:
  mapping_watch() = default;
  bool open(std::string& why_not);
  bool works();
  void run();
  void read_events();
  // The following functions are called under the lock.
  /// Marks the ranges that overlap [begin, end) as changed.
  void note(uint64_t begin, uint64_t end);
  bool set_watch(uint64_t begin, uint64_t end);
  /// Ends the watch on the part of [begin, end) that no range covers.
  void uncover(uint64_t begin, uint64_t end);
  void end_watch(uint64_t begin, uint64_t end);
  bool change_under_way();

  std::mutex mutex_;
  interval_tree ranges_;   // under mutex_
  int events_ = -1;        // the userfaultfd
  int stop_ = -1;          // an eventfd
  void* probe_ = nullptr;  // a watched page of this object
  std::thread thread_;
};

}  // namespace lci
