// A device's memory registrations: shared by all uses of memory inside one, and kept for a while after the last use.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "lci/reg_cache_stats.hpp"
#include "lib/base/interval_tree.hpp"
#include "lib/base/mapping_watch.hpp"
#include "network/fabric.hpp"

namespace lci::core {

/// A cache of registrations. A registration without users is kept only while it is known to be valid: if changes of its
/// mapping are watched, or the program guarantees that there are none (`trust`). Without either, a registration
/// can be shared while its whole range has a user, since a program does not unmap memory that it has registered.
///
/// Thread-safe. The network is called without the lock, since registering takes long. No code that holds the lock, or
/// the watch's lock, waits for the watch's thread.
class registration_cache {
 public:
  struct limits {
    size_t bytes = 0, count = 0;  // of registrations without users
    bool trust = false;           // the program guarantees that mappings do not change
  };
  /// `watch` may be null. `net` outlives the cache.
  registration_cache(network::device& net, const limits& most, std::shared_ptr<mapping_watch> watch);
  ~registration_cache();
  registration_cache(const registration_cache&) = delete;
  registration_cache& operator=(const registration_cache&) = delete;

  /// Returns a registration that contains [base, base + size), not empty; pass it to release(). Its
  /// `handle` belongs to the cache. Throws resource_error if the network refuses even after all registrations
  /// without users have been evicted.
  network::registration acquire(void* base, size_t size);
  void release(const network::registration& registration);

  /// Returns whether the memory of a registration is known to be what was registered.
  bool is_current(const network::registration& registration);

  /// Deregisters the registration that has had no user for the longest time; false if all have users.
  bool evict_one();

  reg_cache_stats_t stats();

 private:
  // registration::handle points to an entry; its lowest bit is set for a user of the whole range.
  struct entry;
  using entries = std::list<entry>;  // nodes are spliced between lists, and freed without the lock
  struct entry : interval {
    network::registration reg;
    mapping_watch::range pages;
    entries::iterator self;
    size_t users = 0, whole_users = 0;
    bool watched = false;
    bool listed = false;  // in tree_, so that find() finds it
  };

  // Called under mutex_, as all functions below except drop() and make().
  /// Takes a usable entry that covers the range. Returns false if there is none.
  bool find(uint64_t begin, uint64_t end, network::registration& found, entries& dead);
  bool usable(const entry& e);
  bool keepable(const entry& e) const { return most_.trust || (e.watched && !e.pages.changed()); }
  network::registration take(entry& e, uint64_t begin, uint64_t end);
  /// Called when an entry has no user any more: keeps it for later users, or removes it.
  void keep_or_retire(entry& e, entries& dead);
  /// Removes the entry from tree_.
  void unlist(entry& e);
  /// Moves the entry from `from` (used_ or kept_) to `dead`, which the caller passes to drop().
  void retire(entry& e, entries& from, entries& dead);
  void retire_changed(entries& dead);
  void retire_oldest(entries& dead);
  /// Deregisters the entries with the network.
  void drop(entries& dead);
  /// Registers with the network; evicts if that refuses.
  network::registration make(void* base, size_t size);

  network::device& net_;
  const limits most_;
  const std::shared_ptr<mapping_watch> watch_;
  mapping_watch::subscriber changes_;

  std::mutex mutex_;
  interval_tree tree_;  // entries that can be shared
  entries used_;        // with users
  entries kept_;        // without users, the oldest first
  reg_cache_stats_t stats_;
};

}  // namespace lci::core
