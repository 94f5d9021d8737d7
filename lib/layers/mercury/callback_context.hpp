// The implementation of hg_context_t of the callback model.
#pragma once

#include <mercury_callback.h>

#include <atomic>
#include <deque>
#include <mutex>

#include "lib/concurrent/spinlock.hpp"
#include "lib/layers/mercury/misuse.hpp"

namespace mercury {

class request;
class call;

/// An entry of the queue: either a request whose result has arrived, or a call whose answer has been sent. The entry
/// holds a reference to it.
struct completion {
  request* made = nullptr;
  call* answered = nullptr;
  hg_return_t result = HG_SUCCESS;  // of sending the answer
};

/// Completions that HG_Trigger() has not taken yet. Thread-safe.
class completion_queue {
 public:
  void push(completion c) {
    std::lock_guard guard(lock_);
    queue_.push_back(c);
    size_.store(queue_.size(), std::memory_order_release);
  }
  bool pop(completion& c) {
    if (is_empty()) return false;
    std::lock_guard guard(lock_);
    if (queue_.empty()) return false;
    c = queue_.front();
    queue_.pop_front();
    size_.store(queue_.size(), std::memory_order_release);
    return true;
  }
  bool is_empty() const { return size_.load(std::memory_order_acquire) == 0; }

 private:
  lci::spinlock lock_;
  std::deque<completion> queue_;
  std::atomic<size_t> size_{0};  // size of queue_, read without the lock
};

/// A queue of completed calls. Owned by the program. Thread-safe. The public structure hg_context is its first base, so
/// programs can access its members.
struct callback_context : hg_context, object<0x6d756378> {
  completion_queue completed;
  std::atomic<uint32_t> handles{0};  // existing handles that HG_Create() has created with this context
};

}  // namespace mercury
