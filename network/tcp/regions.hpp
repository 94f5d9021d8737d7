// Memory that peers may read and write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "lib/concurrent/spinlock.hpp"

namespace lci::network::sockets {

/// The ranges registered with one device, by key. Keys are small numbers, as a peer that may connect is trusted with
/// them; but its accesses are checked. Thread-safe.
class region_table {
 public:
  /// Returns the range's key: never 0, and unique among all tables of this process.
  uint64_t add(void* base, size_t size);
  /// Adds a range under a given key, which another network of the runtime has assigned to it.
  void add_as(uint64_t key, void* base, size_t size);
  void remove(uint64_t key);
  /// Makes find() refuse writes to the range.
  void make_read_only(uint64_t key);
  /// Returns the address if all of [address, address + size) is registered under the key, and peers may do this with
  /// it; else null. In the checking mode also null if the range is no longer mapped.
  std::byte* find(uint64_t key, uint64_t address, uint64_t size, bool writes);

 private:
  struct range {
    uint64_t base, size;
    bool read_only = false;
  };
  spinlock lock_;
  std::unordered_map<uint64_t, range> ranges_;  // under lock_
};

}  // namespace lci::network::sockets
