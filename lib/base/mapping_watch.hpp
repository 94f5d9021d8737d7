// Tells when the pages behind an address have changed: when memory has been unmapped, mapped over,
// moved or given back to the system, by whomever. Made of userfaultfd; docs/decisions/0012 says why.
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

/// One for the process. A thread that changes the mapping of a watched range is held up by the kernel
/// until the watch's own thread has read so; that reads with the lock held. Thus who takes the lock
/// after a change has returned finds the change noted.
///
/// A thread that holds the lock and changes a mapping, or frees memory, waits for the watch's thread,
/// which waits for the lock. So nothing is allocated or freed under it, and nobody else's code runs.
///
/// Thread-safe. Ranges belong to their users, who add and remove each by one thread at a time.
class mapping_watch {
 public:
  class subscriber {
    friend class mapping_watch;
    bool changes_ = false;  // under the lock
  };

  class range : interval {
   public:
    /// A change that was made before a call of take_changes() or unchanged() is known after it.
    bool changed() const { return changed_.load(std::memory_order_relaxed); }

   private:
    friend class mapping_watch;
    subscriber* whose_ = nullptr;
    bool watched_ = false;             // in the tree; under the lock
    // Written under the lock. Looked at without it, too: nothing is read because of it, and who has
    // held the lock since then sees it.
    std::atomic<bool> changed_{false};
  };

  /// The process's watch; null, and why, if the system has none. Lives while somebody holds it.
  static std::shared_ptr<mapping_watch> get(std::string& why_not);
  ~mapping_watch();
  mapping_watch(const mapping_watch&) = delete;
  mapping_watch& operator=(const mapping_watch&) = delete;

  /// Watches the pages of [base, base + size) from now on. False: this memory can't be watched.
  bool add(range& r, subscriber& whose, const void* base, size_t size);
  /// For what add() has taken, changed or not. Afterwards the watch doesn't know the range.
  void remove(range& r);
  /// Whether a range of this subscriber has changed since the last time it asked.
  bool take_changes(subscriber& whose);
  /// True if what `r` covers is mapped as it was when it was added, whoever has changed something
  /// meanwhile, if only just now. Asks the kernel; false also if that does not become clear soon.
  bool unchanged(const range& r);

 private:
  mapping_watch() = default;
  bool open(std::string& why_not);
  bool works();
  void run();
  void read_events();
  /// Under the lock, as all that follows.
  void note(uint64_t begin, uint64_t end);
  bool set_watch(uint64_t begin, uint64_t end);
  /// Ends the watch on what no range needs.
  void uncover(uint64_t begin, uint64_t end);
  void end_watch(uint64_t begin, uint64_t end);
  bool change_under_way();

  std::mutex mutex_;
  interval_tree ranges_;     // under mutex_
  int events_ = -1;          // the userfaultfd
  int stop_ = -1;            // an eventfd
  void* probe_ = nullptr;    // a watched page of our own
  std::thread thread_;
};

}  // namespace lci
