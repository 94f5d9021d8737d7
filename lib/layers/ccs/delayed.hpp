// Large messages whose header handlers have returned CCS_AGAIN.
#pragma once

#include <ccs.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "lib/concurrent/spinlock.hpp"
#include "lib/layers/ccs/chain.hpp"
#include "lib/layers/ccs/operation.hpp"

namespace ccs {

/// A large message: the arguments for its header handler.
struct large_message {
  int source;
  unsigned context, handler;
  uint64_t operation, size;
  std::vector<CCS_handler_arg_t> args;
  std::unique_ptr<ccs::operation> receiving;  ///< of the data; allocated before the handler accepts that
  large_message* next = nullptr;
};

/// Messages whose header handlers are to be called again. Thread-safe.
class delayed_list {
 public:
  void add(std::unique_ptr<large_message> m) noexcept {
    std::lock_guard guard(lock_);
    all_.push(std::move(m));
    any_.store(true, std::memory_order_release);
  }
  /// Moves all messages to `taken`, which must be empty.
  void take(chain<large_message>& taken) noexcept {
    if (is_empty()) return;
    std::lock_guard guard(lock_);
    taken.swap(all_);
    any_.store(false, std::memory_order_release);
  }
  bool is_empty() const { return !any_.load(std::memory_order_acquire); }
  /// Calls f(message) with the message that waits longest. Returns false if there is none.
  template <class F>
  bool with_first(F f) const {
    std::lock_guard guard(lock_);
    if (all_.is_empty()) return false;
    f(all_.first());
    return true;
  }

 private:
  std::atomic<bool> any_{false};
  mutable lci::spinlock lock_;
  chain<large_message> all_;
};

}  // namespace ccs
