// Memory for large messages that nobody but their handler sees.
#pragma once

#include <array>
#include <cstddef>
#include <cstdlib>
#include <mutex>

#include "lib/base/cpu.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "lib/core/landing.hpp"

namespace lci::core {

/// Buffers for all that may land, kept for the next message: memory that is used again is there, and perhaps in the
/// caches, while malloc() gives large pieces back to the system, which makes each page anew. Thread-safe.
class kept_buffers {
 public:
  kept_buffers() = default;
  ~kept_buffers() {
    for (buffer& b : buffers_) std::free(b.memory);
  }
  kept_buffers(const kept_buffers&) = delete;
  kept_buffers& operator=(const kept_buffers&) = delete;

  /// Null if all are in use, the size is too large, or there is no memory.
  void* take(size_t size) {
    if (size > landing::largest) return nullptr;
    std::lock_guard guard(lock_);
    buffer* best = nullptr;
    for (buffer& b : buffers_) {
      if (b.used) continue;
      // The smallest that is large enough, or else the largest: that is replaced.
      const bool fits = b.size >= size;
      if (best == nullptr || (fits ? best->size < size || b.size < best->size
                                   : best->size < size && b.size > best->size))
        best = &b;
    }
    if (best == nullptr) return nullptr;
    if (best->size < size && !grow(*best, size)) return nullptr;
    best->used = true;
    return best->memory;
  }
  /// False if it is none of them.
  bool give_back(void* memory) {
    std::lock_guard guard(lock_);
    for (buffer& b : buffers_)
      if (b.used && b.memory == memory) {
        b.used = false;
        return true;
      }
    return false;
  }

 private:
  struct buffer {
    void* memory = nullptr;
    size_t size = 0;
    bool used = false;
  };

  static bool grow(buffer& b, size_t size) {
    std::free(b.memory);
    const size_t whole_lines = (size + cache_line - 1) / cache_line * cache_line;
    b.memory = std::aligned_alloc(cache_line, whole_lines);
    b.size = b.memory == nullptr ? 0 : whole_lines;
    return b.memory != nullptr;
  }

  spinlock lock_;
  std::array<buffer, landing::most> buffers_;  // under lock_
};

}  // namespace lci::core
