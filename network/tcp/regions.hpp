// Memory that peers may write to and read from.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "lib/concurrent/spinlock.hpp"

namespace lci::network::sockets {

/// The ranges registered with one device, by their keys, which are small numbers: who may connect is trusted
/// with them, but not to get them right. Thread-safe.
class region_table {
 public:
  /// The range's key: never 0, and of no other table of this process.
  uint64_t add(void* base, size_t size);
  void remove(uint64_t key);
  /// The address, if all of [address, address + size) was registered under the key; else null. Null, too, if it is not
  /// mapped any more, which is known in the checking mode.
  std::byte* find(uint64_t key, uint64_t address, uint64_t size);

 private:
  struct range {
    uint64_t base, size;
  };
  spinlock lock_;
  std::unordered_map<uint64_t, range> ranges_;  // under lock_
};

}  // namespace lci::network::sockets
