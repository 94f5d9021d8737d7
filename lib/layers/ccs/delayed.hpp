// Large messages whose header handlers have returned CCS_AGAIN.
#pragma once

#include <ccs.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "lib/concurrent/spinlock.hpp"

namespace ccs {

/// A large message: the arguments for its header handler.
struct large_message {
  int source;
  unsigned context, handler;
  uint64_t operation, size;
  std::vector<CCS_handler_arg_t> args;
};

/// Messages whose header handlers are to be called again. Thread-safe.
class delayed_list {
 public:
  void add(large_message m) {
    std::lock_guard guard(lock_);
    all_.push_back(std::move(m));
    n_.store(all_.size(), std::memory_order_release);
  }
  /// Removes and returns all messages.
  std::deque<large_message> take() {
    std::deque<large_message> taken;
    if (is_empty()) return taken;
    std::lock_guard guard(lock_);
    taken.swap(all_);
    n_.store(0, std::memory_order_release);
    return taken;
  }
  bool is_empty() const { return n_.load(std::memory_order_acquire) == 0; }

 private:
  std::atomic<size_t> n_{0};
  lci::spinlock lock_;
  std::deque<large_message> all_;
};

}  // namespace ccs
