// Keys of other processes' registrations, by address.
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

/// A key. Memory that this process has mapped (`here`) needs no registration of the network, so operations on it are
/// complete at once and do not count as users; other operations are users while they are outstanding.
struct remote_key {
  uint64_t region = 0;
  uintptr_t begin = 0, end = 0;
  lci::rmr_t rmr;
  std::byte* here = nullptr;  ///< where the first byte is in this process
  size_t users = 0;           ///< under the lock of its cache
  bool ending = false;
};

/// The keys that this process has of one other process. Thread-safe.
class key_cache {
 public:
  /// Where a byte of mapped memory is in this process, if `size` bytes from it on are; else null.
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
  /// A key of the byte, with a user more; null if there is none.
  remote_key* take(uintptr_t address) {
    std::lock_guard guard(lock_);
    remote_key* k = find(address);
    if (k != nullptr) ++k->users;
    return k;
  }
  /// Ends a use. True: the key was to be given back and is free now; it is gone, and `region` is its name.
  bool release(remote_key* k, uint64_t& region);
  void add(const remote_key& k);
  /// The owner takes the key back. True: it has no users, and is gone.
  bool end(uint64_t region);

 private:
  remote_key* find(uintptr_t address) {
    if (LCI_LIKELY(last_ != nullptr && address - last_->begin < last_->end - last_->begin)) return last_;
    return search(address);
  }
  remote_key* search(uintptr_t address);

  lci::spinlock lock_;
  remote_key* last_ = nullptr;                             // that was found last
  std::map<uintptr_t, std::unique_ptr<remote_key>> keys_;  // by begin; they do not overlap
  std::vector<std::unique_ptr<remote_key>> ending_;
};

}  // namespace ccs
