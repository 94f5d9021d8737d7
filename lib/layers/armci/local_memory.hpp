// Memory of ARMCI_Malloc_local: this process's alone.
#pragma once

#include <cstddef>
#include <mutex>
#include <vector>

namespace armci_layer {

/// Libraries allocate large buffers anew for each operation, and the first touch of a page costs more than to copy it:
/// so large blocks have huge pages where the system grants them, and some are kept when they are released. Thread-safe.
class local_memory {
 public:
  /// At a multiple of 64. Null if there is no memory.
  void* allocate(size_t bytes) noexcept;
  void release(void* p) noexcept;
  /// Gives back what is kept.
  void trim() noexcept;

 private:
  /// Stands before each block.
  struct alignas(64) header {
    size_t size;  ///< of header and block
  };
  static constexpr size_t huge_page = size_t{2} << 20, large = size_t{1} << 20, most_kept = size_t{256} << 20;

  header* take_kept(size_t size) noexcept;

  std::mutex mutex_;
  std::vector<header*> kept_;  // by time of their release; under mutex_
  size_t kept_bytes_ = 0;      // under mutex_
};

/// The process's: blocks may be released outside of ARMCI_Init and ARMCI_Finalize.
local_memory& local_blocks();

}  // namespace armci_layer
