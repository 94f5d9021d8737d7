// The implementation of hg_context_t of the callback model.
#pragma once

#include <mercury_callback.h>

#include <atomic>
#include <mutex>

#include "lib/base/callback_scope.hpp"
#include "lib/concurrent/biased_lock.hpp"
#include "lib/layers/mercury/misuse.hpp"

namespace mercury {

class request;
class call;

/// An entry of the queue: either a request whose result has arrived, or a call whose answer has been sent. Part of that
/// request or call, to which the queue holds a reference; so no entry needs memory.
struct completion {
  request* made = nullptr;
  call* answered = nullptr;
  hg_return_t result = HG_SUCCESS;  // of sending the answer
  completion* next = nullptr;
};

/// Completions that HG_Trigger() has not taken yet. Thread-safe.
class completion_queue {
 public:
  void push(completion* c) {
    c->next = nullptr;
    std::lock_guard guard(lock_);
    (first_ == nullptr ? first_ : last_->next) = c;
    last_ = c;
    is_empty_.store(false, std::memory_order_release);
  }
  bool pop(completion& c) {
    if (is_empty()) return false;
    std::lock_guard guard(lock_);
    if (first_ == nullptr) return false;
    c = *first_;  // a copy, as the callback may begin another call
    first_ = c.next;
    if (first_ == nullptr) is_empty_.store(true, std::memory_order_release);
    return true;
  }
  /// Forgets all entries: HG_Finalize() has abandoned their requests and calls.
  void clear() {
    std::lock_guard guard(lock_);
    first_ = nullptr;
    is_empty_.store(true, std::memory_order_release);
  }
  bool is_empty() const { return is_empty_.load(std::memory_order_acquire); }

 private:
  lci::biased_lock lock_;
  completion* first_ = nullptr;
  completion* last_ = nullptr;
  std::atomic<bool> is_empty_{true};  // read without the lock
};

/// A queue of completed calls. Owned by the program. Thread-safe. The public structure hg_context is its first base, so
/// programs can access its members.
struct callback_context : hg_context, object<0x6d756378> {
  completion_queue completed;
  std::atomic<uint32_t> handles{0};  // existing handles that HG_Create() has created with this context
  std::atomic<uint32_t> answers{0};  // of HG_Respond(), whose callbacks have not run

  /// Drops what refers to requests and calls that HG_Finalize() has abandoned, so that the program can destroy the
  /// context.
  void abandon() {
    completed.clear();
    handles.store(0, std::memory_order_relaxed);
    answers.store(0, std::memory_order_relaxed);
  }
};

using callback_scope = lci::callback_scope<callback_context>;

}  // namespace mercury
