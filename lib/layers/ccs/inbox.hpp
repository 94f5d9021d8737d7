// Queues of messages and callbacks that wait until a thread may run handlers and callbacks.
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

/// Messages of one source that arrived in a thread which must not run handlers. Later messages of the source are
/// appended, which preserves the order. Owned by `peer`. Only one thread at a time handles messages of a source.
class inbox {
 public:
  struct message {
    uint64_t tag;
    size_t size;
    std::unique_ptr<std::byte[]> data;
  };

  /// Whether a new message may be handled at once: no earlier one is queued or being handled.
  bool is_free() const { return waiting_.load(std::memory_order_acquire) == 0; }  // A1: pairs with R1 in end()
  /// Appends a copy of the message. Returns whether the inbox was empty; the caller must then announce it.
  bool append(uint64_t tag, const void* data, size_t size);
  /// Takes the oldest message; the caller calls end() after it has handled it. Returns false if there is none, or if
  /// another thread is handling one.
  bool begin(message& m);
  /// Ends the handling of a message. Returns whether further messages are queued.
  bool end();

 private:
  std::atomic<size_t> waiting_{0};  // number of queued messages, plus one while a message is being handled
  lci::spinlock lock_;
  bool taken_ = false;
  std::deque<message> messages_;
};

/// Callbacks of completed operations that wait for a thread which may run them. Thread-safe.
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

/// Calls a callback if this thread may run it now, else appends it to `due`. No effect if it is null.
void call_or_store(due_callbacks& due, CCS_callback_t callback, void* arg, int status = CCS_SUCCESS);
/// Calls a callback. The calling thread must be allowed to run callbacks.
void call_now(const due_callbacks::item& i);

}  // namespace ccs
