// Reused buffers for large active messages whose handler gets the payload in place.
#pragma once

#include <array>
#include <cstddef>
#include <cstdlib>
#include <mutex>

#include "lib/base/cpu.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "lib/core/transfer/receive_window.hpp"

namespace lci::core {

/// One buffer for each message in the receive window, reused for later messages. A reused buffer has its pages, and
/// may be in the processor's caches; malloc() returns large blocks to the system, so each page of the next one faults.
/// Owns the buffers. Thread-safe.
class buffer_cache {
 public:
  buffer_cache() = default;
  ~buffer_cache() {
    for (buffer& b : buffers_) std::free(b.memory);
  }
  buffer_cache(const buffer_cache&) = delete;
  buffer_cache& operator=(const buffer_cache&) = delete;

  /// Returns null if all are in use, if `size` exceeds receive_window::largest, or if there is no memory.
  void* take(size_t size) {
    if (size > receive_window::largest) return nullptr;
    std::lock_guard guard(lock_);
    buffer* best = nullptr;
    for (buffer& b : buffers_) {
      if (b.used) continue;
      // Best fit; if none is large enough, the largest, which is reallocated.
      const bool fits = b.size >= size;
      if (best == nullptr ||
          (fits ? best->size < size || b.size < best->size : best->size < size && b.size > best->size))
        best = &b;
    }
    if (best == nullptr) return nullptr;
    if (best->size < size && !grow(*best, size)) return nullptr;
    best->used = true;
    return best->memory;
  }
  /// Returns false if `memory` is not one of these buffers.
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
  std::array<buffer, receive_window::most> buffers_;  // under lock_
};

}  // namespace lci::core
