// What is behind hg_context_t of the callback model.
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

/// One of the two: a call whose result has come, or one whose answer has been sent. The queue holds a reference.
struct completion {
  request* made = nullptr;
  call* answered = nullptr;
  hg_return_t result = HG_SUCCESS;  // of an answer
};

/// Thread-safe.
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
  std::atomic<size_t> size_{0};  // of queue_, so that looking needs no lock
};

/// A queue of completed calls. Owned by the program; thread-safe. The old structure comes first, which programs see.
struct callback_context : hg_context, object<0x6d756378> {
  completion_queue completed;
  std::atomic<uint32_t> handles{0};  // that HG_Create() has made for it
};

}  // namespace mercury
