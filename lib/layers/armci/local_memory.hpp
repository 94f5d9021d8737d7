// Memory of ARMCI_Malloc_local: this process's alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <vector>

namespace armci_layer {

/// Libraries allocate large buffers anew for each operation, and the first touch of a page costs more than to copy it:
/// so large blocks have huge pages where the system grants them, and some are kept when they are released. Thread-safe.
class local_memory {
 public:
  /// At a multiple of 64, and of a page if it has 1 MiB or more: rows that cross the end of a page are copied more
  /// slowly. Returns null if there is no memory.
  void* allocate(size_t bytes) noexcept;
  /// Frees a block. Returns false, without effect, if `p` is no block, or one that was freed already. Ignores null.
  bool release(void* p) noexcept;
  /// Gives back what is kept.
  void trim() noexcept;

 private:
  /// Stands directly before each block: at the end of a page of its own before a large one.
  struct alignas(64) header {
    size_t size;     ///< of all that was allocated for the block
    uintptr_t mark;  ///< mark_of() while the block is the program's
  };
  static uintptr_t mark_of(const header* h) { return reinterpret_cast<uintptr_t>(h) ^ 0x6c6f63616c626c6b; }
  static constexpr size_t huge_page = size_t{2} << 20, large = size_t{1} << 20, most_kept = size_t{256} << 20;
  static constexpr size_t page = 4096;

  /// Sizes of large blocks are multiples of huge pages.
  static bool is_large_block(const header* h) { return h->size >= huge_page; }
  static void free_whole(header* h) noexcept;
  header* take_kept(size_t size) noexcept;

  std::mutex mutex_;
  std::vector<header*> kept_;  // by time of their release; under mutex_
  size_t kept_bytes_ = 0;      // under mutex_
};

/// The process's: blocks may be released outside of ARMCI_Init and ARMCI_Finalize.
local_memory& local_blocks();

}  // namespace armci_layer
