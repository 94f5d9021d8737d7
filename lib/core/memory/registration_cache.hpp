// A device's memory registrations: shared by all who name memory inside of one, and kept for a while
// when nobody does.
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

/// Registrations without users are kept while they can be trusted: where changes of the mappings are
/// watched, or the program vouches for them. Of others, those can be shared whose whole range has a
/// user, since a program does not unmap what it has registered.
///
/// Thread-safe. The network is called without the lock: registering takes long. Never under it, or
/// the watch's own, does anything wait for the watch.
class registration_cache {
 public:
  struct limits {
    size_t bytes = 0, count = 0;  // of what has no user
    bool trust = false;           // the program vouches for mappings
  };
  /// `watch` may be null. `net` outlives the cache.
  registration_cache(network::device& net, const limits& most, std::shared_ptr<mapping_watch> watch);
  ~registration_cache();
  registration_cache(const registration_cache&) = delete;
  registration_cache& operator=(const registration_cache&) = delete;

  /// A registration of all of [base, base + size), not empty, to be given back to release(). Its
  /// `handle` is the cache's. Throws resource_error if the network refuses although nothing is kept
  /// any more.
  network::registration acquire(void* base, size_t size);
  void release(const network::registration& registration);

  /// Gives up what has been kept longest, for the network; false if nothing is kept.
  bool evict_one();

  reg_cache_stats_t stats();

 private:
  // What registration::handle points to; a user of the whole range has the lowest bit set.
  struct entry;
  using entries = std::list<entry>;  // nodes move between lists, and are freed without the lock
  struct entry : interval {
    network::registration reg;
    mapping_watch::range pages;
    entries::iterator self;
    size_t users = 0, whole_users = 0;
    bool watched = false;
    bool listed = false;  // in tree_, so that it can be found
  };

  // Under mutex_, as all that follows but drop() and make().
  /// Takes one that covers the range and can be used, if there is one.
  bool find(uint64_t begin, uint64_t end, network::registration& found, entries& dead);
  bool usable(const entry& e);
  bool keepable(const entry& e) const { return most_.trust || (e.watched && !e.pages.changed()); }
  network::registration take(entry& e, uint64_t begin, uint64_t end);
  /// For an entry that has lost its last user.
  void keep_or_retire(entry& e, entries& dead);
  /// Nobody finds it any more.
  void unlist(entry& e);
  /// Out of `from`, used_ or kept_, to `dead`, which is for drop().
  void retire(entry& e, entries& from, entries& dead);
  void retire_changed(entries& dead);
  void retire_oldest(entries& dead);
  /// Gives registrations back to the network.
  void drop(entries& dead);
  /// Registers; evicts for that if need be.
  network::registration make(void* base, size_t size);

  network::device& net_;
  const limits most_;
  const std::shared_ptr<mapping_watch> watch_;
  mapping_watch::subscriber changes_;

  std::mutex mutex_;
  interval_tree tree_;  // those that can be shared
  entries used_;
  entries kept_;        // the longest kept first
  reg_cache_stats_t stats_;
};

}  // namespace lci::core
