// What waits until a thread may run handlers and callbacks.
#pragma once

#include <ccs.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "lib/concurrent/spinlock.hpp"

namespace ccs {

/// Messages of one source that arrived in a thread which may run no handlers. Later ones queue up behind them, so
/// their order is kept. One thread at a time delivers messages of a source, or takes stored ones.
class inbox {
 public:
  struct message {
    uint64_t tag;
    size_t size;
    std::unique_ptr<std::byte[]> data;
  };

  /// Whether a message may be delivered at once: no earlier one waits or is being handled.
  bool is_free() const { return waiting_.load(std::memory_order_acquire) == 0; }  // A1: pairs with R1 in end()
  /// Appends a copy. Returns whether the inbox was empty, and has to be announced.
  bool append(uint64_t tag, const void* data, size_t size);
  /// Takes the oldest message, to be followed by end(). False if there is none, or another thread has one.
  bool begin(message& m);
  /// Returns whether others wait.
  bool end();

 private:
  std::atomic<size_t> waiting_{0};  // stored ones, and the one that is being handled
  lci::spinlock lock_;
  bool taken_ = false;
  std::deque<message> messages_;
};

/// Callbacks that are due. Thread-safe.
class due_callbacks {
 public:
  struct item {
    CCS_callback_t callback;
    void* arg;
    int status;
  };
  void add(const item& i);
  bool take(item& i);

 private:
  std::atomic<size_t> n_{0};
  lci::spinlock lock_;
  std::deque<item> items_;
};

/// Calls a callback now if this thread may run it, else stores it in `due`. None for null.
void call_or_store(due_callbacks& due, CCS_callback_t callback, void* arg, int status = CCS_SUCCESS);
/// Calls it, in a thread that may run it.
void call_now(const due_callbacks::item& i);

}  // namespace ccs
