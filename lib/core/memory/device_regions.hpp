// The memory regions of a device, whose registrations end with it.
#pragma once

#include <memory>
#include <mutex>
#include <utility>

#include "lib/concurrent/spinlock.hpp"
#include "lib/core/memory/memory_region.hpp"
#include "lib/core/memory/shared_heap.hpp"

namespace lci::core {

/// Part of a device. A list through the regions themselves, so it allocates nothing. The regions are the program's,
/// except those that were abandoned. Thread-safe except for end_all() and free_abandoned(), which the thread that
/// destroys the device calls.
class device_regions {
 public:
  void add(memory_region& r) {
    std::lock_guard guard(lock_);
    r.next = first_;
    if (first_ != nullptr) first_->before = &r;
    first_ = &r;
  }
  void remove(memory_region& r) {
    std::lock_guard guard(lock_);
    (r.before == nullptr ? first_ : r.before->next) = r.next;
    if (r.next != nullptr) r.next->before = r.before;
    r.before = r.next = nullptr;
  }
  /// Keeps a region from alloc_shared(), with its memory, until the device ends. The program has given it up, but other
  /// ranks may still access the memory.
  void abandon(memory_region& r) {
    std::lock_guard guard(lock_);
    r.abandoned = true;
  }

  /// Calls `deregister(region)` for each region. Only those that were abandoned stay in the list.
  template <class F>
  void end_all(F deregister) {
    for (memory_region* r = std::exchange(first_, nullptr); r != nullptr;) {
      memory_region& each = *std::exchange(r, r->next);
      each.before = each.next = nullptr;
      deregister(static_cast<const memory_region&>(each));
      if (each.abandoned) add(each);
    }
  }
  /// Frees the regions that were abandoned, and their memory, once no peer accesses it.
  void free_abandoned(shared_heap& heap) {
    while (first_ != nullptr) {
      const std::unique_ptr<memory_region> region(std::exchange(first_, first_->next));
      heap.free_block(region->base, region->size);
    }
  }

 private:
  spinlock lock_;
  memory_region* first_ = nullptr;  // under lock_
};

}  // namespace lci::core
