// Messages that wait until a thread may run handlers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "lib/concurrent/spinlock.hpp"
#include "lib/layers/ccs/chain.hpp"

namespace ccs {

/// Messages of one source that arrived in a thread which must not run handlers. Later messages of the source are
/// appended, which preserves the order. Owned by `peer`. Only one thread at a time handles messages of a source.
class inbox {
 public:
  struct message {
    uint64_t tag;
    size_t size;
    std::unique_ptr<std::byte[]> data;
    message* next;
  };

  /// Returns whether a new message may be handled at once: no earlier one is queued or being handled.
  bool is_free() const { return waiting_.load(std::memory_order_acquire) == 0; }  // A1: pairs with R1 in end()
  /// Appends a copy. Returns true if the inbox was empty: then the caller calls process::announce(). Throws
  /// std::bad_alloc.
  bool append(uint64_t tag, const void* data, size_t size);
  /// Removes the oldest message; the caller handles it and calls end(). Returns null if the inbox is empty, or while
  /// another thread handles a message.
  std::unique_ptr<message> begin() noexcept;
  /// Returns whether others wait.
  bool end() noexcept;

 private:
  std::atomic<size_t> waiting_{0};  // number of queued messages, plus one while a message is being handled
  lci::spinlock lock_;
  bool taken_ = false;
  chain<message> messages_;
};

}  // namespace ccs
