// Messages that wait until a thread may run handlers.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "lib/concurrent/spinlock.hpp"
#include "lib/layers/ccs/chain.hpp"

namespace ccs {

/// Messages of one source that arrived in a thread which may run no handlers. Later ones queue up behind them, so
/// their order is kept. One thread at a time delivers messages of a source, or takes stored ones.
class inbox {
 public:
  struct message {
    uint64_t tag;
    size_t size;
    std::unique_ptr<std::byte[]> data;
    message* next;
  };

  /// Whether a message may be delivered at once: no earlier one waits or is being handled.
  bool is_free() const { return waiting_.load(std::memory_order_acquire) == 0; }  // A1: pairs with R1 in end()
  /// Appends a copy. Returns whether the inbox was empty, and has to be announced. Throws std::bad_alloc.
  bool append(uint64_t tag, const void* data, size_t size);
  /// Takes the oldest message, to be followed by end(). Null if there is none, or another thread has one.
  std::unique_ptr<message> begin() noexcept;
  /// Returns whether others wait.
  bool end() noexcept;

 private:
  std::atomic<size_t> waiting_{0};  // stored ones, and the one that is being handled
  lci::spinlock lock_;
  bool taken_ = false;
  chain<message> messages_;
};

}  // namespace ccs
