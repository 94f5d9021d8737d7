// The queue of callbacks that are due, and functions that call callbacks.
#pragma once

#include <ccs.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>

#include "lib/base/cpu.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "lib/layers/ccs/chain.hpp"
#include "lib/layers/ccs/thread_state.hpp"

namespace ccs {

/// A callback of the program, with its arguments. It is queued if the completing thread must not run callbacks.
struct due_callback {
  due_callback(CCS_callback_t c, void* a) : callback(c), arg(a) {}
  virtual ~due_callback() = default;
  due_callback(const due_callback&) = delete;
  due_callback& operator=(const due_callback&) = delete;

  CCS_callback_t callback;
  void* arg;
  int status = CCS_SUCCESS;
  due_callback* next = nullptr;
};

/// Callbacks that are due. Thread-safe.
class due_callbacks {
 public:
  void add(std::unique_ptr<due_callback> one) noexcept;
  /// May miss a callback that another thread is adding; a later call finds it.
  bool is_empty() const { return n_.load(std::memory_order_relaxed) == 0; }
  /// Removes the oldest callback. Returns null if there is none.
  std::unique_ptr<due_callback> take() noexcept;

 private:
  std::atomic<size_t> n_{0};
  lci::spinlock lock_;
  chain<due_callback> all_;
};

/// Calls a callback. The calling thread must be allowed to run callbacks.
void call_now(CCS_callback_t callback, void* arg, int status);

/// Operations that complete within their calls before one of them polls.
constexpr unsigned most_at_once = 64;
/// Polls, since the program may repeat an operation that completes within its call until another process changes the
/// memory, for example to take a lock. That process may need a message of this one, or an answer.
LCI_NOINLINE void poll_between() noexcept;

/// The callback of an operation that completes within its call; may be null. Construct it before the operation has an
/// effect: the constructor allocates memory, and may throw, if this thread must not run callbacks.
class immediate_callback {
 public:
  immediate_callback(due_callbacks& due, CCS_callback_t callback, void* arg)
      : due_(due), callback_(callback), arg_(arg) {
    if (LCI_UNLIKELY(tls.busy > 0) && callback != nullptr) stored_ = std::make_unique<due_callback>(callback, arg);
  }
  void call() {
    if (LCI_UNLIKELY(stored_ != nullptr))
      due_.add(std::move(stored_));
    else if (callback_ != nullptr)
      call_now(callback_, arg_, CCS_SUCCESS);
    if (LCI_UNLIKELY(++tls.at_once >= most_at_once)) poll_between();
  }

 private:
  due_callbacks& due_;
  const CCS_callback_t callback_;
  void* const arg_;
  std::unique_ptr<due_callback> stored_;
};

}  // namespace ccs
