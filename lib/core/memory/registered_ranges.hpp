// The memory that peers may access by messages, where the network itself has no remote access.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace lci::core {

/// Ranges by the key of their registration. Part of a device, so that a range can't be accessed once its device was
/// freed. Thread-safe. Ranges that share a registration share its key, which covers all of them and the gaps between
/// until the last one is removed.
class registered_ranges {
 public:
  /// `read_only`: peers may not write, unless another registration, which they may write to, shares the key.
  void add(uint64_t rkey, uint64_t base, uint64_t size, bool read_only = false);
  void remove(uint64_t rkey);
  /// Returns `addr` if [addr, addr+size) is registered under `rkey`, and may be written if `writes`; else null.
  void* find(uint64_t rkey, uint64_t addr, uint64_t size, bool writes);

 private:
  struct entry {
    uint64_t base, size;
    size_t users;
    bool read_only;
  };
  std::mutex mutex_;
  std::unordered_map<uint64_t, entry> entries_;  // under mutex_
};

}  // namespace lci::core
