// The blocks of CCS_malloc() and CCS_malloc_symmetric().
#pragma once

#include <cstddef>
#include <mutex>
#include <unordered_map>

#include "lci.hpp"

namespace ccs {

class process;

/// Allocated blocks by address. Owned by `process`. Thread-safe.
class memory_blocks {
 public:
  /// Allocates a block from the memory that processes of the host share, or with malloc() if that is full. Returns null
  /// if there is no memory.
  void* allocate(const process& p, size_t size);
  /// Frees a block. Returns false if the address is not the begin of one.
  bool release(void* address);
  void release_all();

  /// Records the mapped size of symmetric memory. Throws std::bad_alloc.
  void add_symmetric(void* address, size_t size);
  size_t take_symmetric(void* address);

 private:
  struct block {
    lci::mr_t shared;  // empty if the block is from malloc()
  };
  static void end(void* address, block& b) noexcept;

  std::mutex mutex_;
  std::unordered_map<void*, block> blocks_;
  std::unordered_map<void*, size_t> symmetric_;
};

}  // namespace ccs
