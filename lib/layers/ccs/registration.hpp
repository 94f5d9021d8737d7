// The registration cache: which pages are registered, with how many users, and by which registrations of the network.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "lci.hpp"

namespace ccs {

/// The registered pages, each with the number of its users. A page without users stays registered, so that its next
/// user causes no registration. If the bytes of such pages exceed a threshold, the table ends registrations none of
/// whose pages has users, the least recently used first. Before a page without users is used again, the table queries
/// the core whether its mapping has changed since it was registered; if so, it registers the page again.
///
/// Other processes hold keys of registrations. Before a registration ends, its keys are revoked at all holders;
/// meanwhile it gets no new users. Owned by `process`. Thread-safe. Under its lock the table calls the core only to
/// register memory and to send a reply to a process that requests a key.
class registration_table {
 public:
  explicit registration_table(lci::device_t device, size_t n_nodes, size_t threshold);
  ~registration_table();
  registration_table(const registration_table&) = delete;
  registration_table& operator=(const registration_table&) = delete;

  struct stats {
    size_t registered = 0, unused = 0;  // bytes
    unsigned long registrations = 0, deregistrations = 0;
  };
  /// The description of a registration that other processes get.
  struct piece {
    uint64_t id = 0;  // 0: none
    uint64_t begin = 0, end = 0;
    lci::rmr_t rmr;
  };
  /// A registration that ends, and the processes at which its keys must be revoked.
  struct ending {
    uint64_t id;
    std::vector<int> holders;
  };
  using endings = std::vector<ending>;

  // These add the keys that have to be taken back to `ended`, also if they throw.

  /// Counts a user of each page of [address, address + size). Throws resource_error if the network refuses, or
  /// std::bad_alloc: no user is counted then.
  void add(uintptr_t address, size_t size, endings& ended);
  /// Counts one user less. False, without a change, if some page has none.
  bool remove(uintptr_t address, size_t size, endings& ended);
  void set_threshold(size_t bytes, endings& ended);
  stats get_stats() const;

  /// Whether the first and the last page of a range have users.
  bool covers(uintptr_t begin, uintptr_t end) const;
  /// Makes `node` a holder of the registration that contains the address. Passes the registration to `reply` under the
  /// lock, so that the reply is posted before any message that revokes the key.
  template <class Reply>
  void lend(int node, uintptr_t address, Reply reply) {
    std::lock_guard guard(mutex_);
    piece p;
    if (region* r = find_used(address)) {
      p = {r->id, r->begin, r->end, r->rmr};
      ++r->holders[static_cast<size_t>(node)];
    }
    reply(p);  // does not throw
  }
  /// Handles a node's reply that it has deleted a revoked key.
  void returned(int node, uint64_t id);
  /// Whether registrations wait for the return of revoked keys.
  bool has_ending() const { return n_ending_.load(std::memory_order_acquire) > 0; }

 private:
  struct region {
    uintptr_t begin, end;
    uint64_t id;
    lci::mr_t mr;
    lci::rmr_t rmr;
    std::vector<uint32_t> users;    // by page
    size_t used = 0;                // number of pages with users
    uint64_t stamp = 0;             // logical time at which it lost its last user
    std::vector<unsigned> holders;  // by node: number of keys it holds
    size_t pages() const { return users.size(); }
  };
  using region_map = std::map<uintptr_t, std::unique_ptr<region>>;  // by first address; not overlapping

  region* find(uintptr_t address) const;
  region* find_used(uintptr_t address) const;
  /// A region without a registration, which its owner opens.
  std::unique_ptr<region> make(uintptr_t begin, uintptr_t end) const;
  void open(region& r);
  /// Ends the registration.
  void close(region& r);
  /// Counts users of the pages of a region from `begin` to `end`; returns whether a page had none.
  void count_users(region& r, uintptr_t begin, uintptr_t end);
  bool has_unused(const region& r, uintptr_t begin, uintptr_t end) const;
  /// Ends a region whose mapping may have changed, and registers its used pages and [begin, end) again.
  void renew(region_map::iterator at, uintptr_t begin, uintptr_t end, endings& ended);
  /// Removes a region. If it throws for want of memory, nothing has changed.
  void end(region_map::iterator at, endings& ended);
  /// Ends unused regions down to the threshold, or until there is no memory to do so: a later call continues.
  void end_oldest(endings& ended) noexcept;

  const lci::device_t device_;
  const size_t n_nodes_;
  const uintptr_t page_;
  mutable std::mutex mutex_;
  region_map regions_;
  std::list<std::unique_ptr<region>> ending_;  // waiting for the return of their keys
  std::atomic<size_t> n_ending_{0};
  size_t threshold_, unused_pages_ = 0, pages_ = 0;
  uint64_t next_id_ = 1, clock_ = 0;
  stats calls_;
};

}  // namespace ccs
