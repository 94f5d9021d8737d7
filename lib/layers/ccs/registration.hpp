// Memory that this process has registered: which pages, how often, and with which registrations of the network.
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
#include "lib/base/cpu.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "lib/layers/ccs/page_counts.hpp"

namespace ccs {

/// A cache of registrations. Counts the users of each page. Thread-safe; under its lock it calls only two functions of
/// the core: registering, and the reply to a process that has requested a key.
///
/// Pages without users remain registered, so that the next user needs no call of the network. When the bytes of such
/// pages exceed a threshold, the table ends registrations without any user, the oldest first. Before pages without
/// users are used again, the table queries the core whether their mapping has changed; if so, it registers them again.
///
/// Other processes hold keys of registrations. Before a registration ends, the table revokes its key at all holders;
/// meanwhile it accepts no new users.
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
  /// A registration as other processes know it.
  struct piece {
    uint64_t id = 0;  // 0: none
    uint64_t begin = 0, end = 0;
    lci::rmr_t rmr;
  };
  /// Keys that the owner has to revoke at their holders.
  struct ending {
    uint64_t id;
    std::vector<int> holders;
  };
  using endings = std::vector<ending>;

  // The functions with `ended` append the keys that the caller must revoke, also if they throw.

  /// Adds a user to each page of [address, address + size). Throws resource_error if the network can't register the
  /// pages, or std::bad_alloc; then no user was added.
  void add(uintptr_t address, size_t size, endings& ended);
  /// Removes a user from each page. Returns false, without a change, if some page has no user.
  bool remove(uintptr_t address, size_t size, endings& ended);
  void set_threshold(size_t bytes, endings& ended);
  stats get_stats() const;

  /// Returns whether both ends of a range have users.
  bool covers(uintptr_t begin, uintptr_t end) const;
  /// The registration of a byte, of which `node` becomes a holder; passes it to `reply` under the lock, so that the
  /// message is posted before any that takes the key back.
  template <class Reply>
  void lend(int node, uintptr_t address, Reply reply) {
    std::lock_guard guard(lock_);
    piece p;
    if (region* r = find_used(address)) {
      p = {r->id, r->begin, r->end, r->rmr};
      ++r->holders[static_cast<size_t>(node)];
    }
    reply(p);  // does not throw
  }
  /// The node has given a key back.
  void returned(int node, uint64_t id);
  /// Returns whether registrations wait for keys that were lent.
  bool has_ending() const { return n_ending_.load(std::memory_order_acquire) > 0; }

 private:
  struct region {
    region(uintptr_t b, uintptr_t e, size_t n_pages) : begin(b), end(e), users(n_pages) {}
    const uintptr_t begin, end;
    uint64_t id = 0;
    lci::mr_t mr;
    lci::rmr_t rmr;
    page_counts users;
    uint64_t stamp = 0;             // when it has lost its last user
    std::vector<unsigned> holders;  // by node: keys lent
    size_t pages() const { return users.pages(); }
    size_t unused() const { return users.pages() - users.used(); }
  };
  using region_map = std::map<uintptr_t, std::unique_ptr<region>>;  // by begin; they do not overlap

  /// The region that contains the address; null if there is none.
  region* find(uintptr_t address) const {
    if (LCI_LIKELY(last_ != nullptr && address - last_->begin < last_->end - last_->begin)) return last_;
    return search(address);
  }
  region* search(uintptr_t address) const;
  region* find_used(uintptr_t address) const;
  /// Creates a region that is not registered yet; the caller registers it.
  std::unique_ptr<region> make(uintptr_t begin, uintptr_t end) const;
  void open(region& r);
  /// Deregisters the memory of a region.
  void close(region& r);
  /// Adds (`more`) or removes a user of the region's pages from `begin` to `end`. The caller has called
  /// page_counts::prepare().
  void count(region& r, uintptr_t begin, uintptr_t end, bool more) noexcept;
  size_t page_of(const region& r, uintptr_t address) const { return (address - r.begin) >> page_bits_; }
  bool has_unused(const region& r, uintptr_t begin, uintptr_t end) const {
    return r.users.has_unused(page_of(r, begin), page_of(r, end));
  }
  /// Replaces a region whose unused pages may have changed by new ones of its used pages and of [begin, end).
  void renew(region_map::iterator at, uintptr_t begin, uintptr_t end, endings& ended);
  /// Removes a region. If it throws for want of memory, nothing has changed.
  void end(region_map::iterator at, endings& ended);
  /// Ends unused regions until their bytes do not exceed the threshold. Stops if there is no memory; a later call
  /// continues.
  void end_oldest(endings& ended) noexcept;

  const lci::device_t device_;
  const size_t n_nodes_;
  const unsigned page_bits_;
  const uintptr_t page_;
  mutable lci::spinlock lock_;  // held while the network registers memory, so waiting threads yield
  region_map regions_;
  mutable region* last_ = nullptr;             // result of the last search
  std::list<std::unique_ptr<region>> ending_;  // until all holders have returned their keys
  std::atomic<size_t> n_ending_{0};
  size_t threshold_, unused_pages_ = 0, pages_ = 0;
  uint64_t next_id_ = 1, clock_ = 0;
  stats calls_;
};

}  // namespace ccs
