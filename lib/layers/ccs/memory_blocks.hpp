// Memory of CCS_malloc() and CCS_malloc_symmetric().
#pragma once

#include <cstddef>
#include <mutex>
#include <unordered_map>

#include "lci.hpp"

namespace ccs {

class process;

/// Blocks by address. Thread-safe.
class memory_blocks {
 public:
  /// From the memory that processes of the host share, else of the C library. Null: there is none left.
  void* allocate(const process& p, size_t size);
  /// False if the address is of no such block.
  bool release(void* address);
  void release_all();

  /// The mapped size of symmetric memory. Throws std::bad_alloc.
  void add_symmetric(void* address, size_t size);
  size_t take_symmetric(void* address);

 private:
  struct block {
    lci::mr_t shared;  // empty: of the C library
  };
  static void end(void* address, block& b) noexcept;

  std::mutex mutex_;
  std::unordered_map<void*, block> blocks_;
  std::unordered_map<void*, size_t> symmetric_;
};

}  // namespace ccs
