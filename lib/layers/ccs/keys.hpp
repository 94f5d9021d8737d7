// The cache of remote keys: registrations of other processes, by address.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "lci.hpp"
#include "lib/base/cpu.hpp"
#include "lib/concurrent/spinlock.hpp"

namespace ccs {

/// The key of a registration at another process. Outstanding operations of the network count as users of the key.
/// Operations on memory that this process has mapped (`here`) complete at once and do not count.
struct remote_key {
  uint64_t region = 0;
  uintptr_t begin = 0, end = 0;
  lci::rmr_t rmr;
  std::byte* here = nullptr;  ///< address of the first byte in this process; null if it is not mapped
  size_t users = 0;           ///< under the lock of the cache
  bool ending = false;
};

/// The keys of one other process's registrations. Owned by `peer`. Thread-safe.
class key_cache {
 public:
  /// The address in this process of the other's address, if this process has mapped `size` bytes there; else null.
  std::byte* mapped(uintptr_t address, size_t size) {
    std::lock_guard guard(lock_);
    const remote_key* k = find(address);
    if (k == nullptr || k->here == nullptr || k->end - address < size) return nullptr;
    return k->here + (address - k->begin);
  }
  bool knows(uintptr_t address) {
    std::lock_guard guard(lock_);
    return find(address) != nullptr;
  }
  /// The key of the registration that contains the address, with a user added; null if it is not in the cache.
  remote_key* take(uintptr_t address) {
    std::lock_guard guard(lock_);
    remote_key* k = find(address);
    if (k != nullptr) ++k->users;
    return k;
  }
  /// Removes a user. Returns true if it was the last user of a key that the owner has revoked: then the cache has
  /// deleted the key, and the caller returns `region` to the owner.
  bool release(remote_key* k, uint64_t& region);
  void add(const remote_key& k);
  /// Revokes a key for its owner. Returns true if it had no users: then the cache has deleted it, and the caller
  /// returns `region` to the owner.
  bool end(uint64_t region);

 private:
  remote_key* find(uintptr_t address) {
    if (LCI_LIKELY(last_ != nullptr && address - last_->begin < last_->end - last_->begin)) return last_;
    return search(address);
  }
  remote_key* search(uintptr_t address);

  lci::spinlock lock_;
  remote_key* last_ = nullptr;                             // result of the last search
  std::map<uintptr_t, std::unique_ptr<remote_key>> keys_;  // by first address; not overlapping
  std::vector<std::unique_ptr<remote_key>> ending_;
};

}  // namespace ccs
