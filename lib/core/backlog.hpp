// Requests that can't be submitted now and can't be handed back to the user either (paper 4.1.5).
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <mutex>
#include <vector>

#include "lib/concurrent/spinlock.hpp"
#include "lib/core/operation.hpp"
#include "network/fabric.hpp"

namespace lci::core {

/// Thread-safe. Expected to be empty nearly always: a plain queue under a lock, with a counter that
/// spares the progress engine from looking at an empty one.
class backlog {
 public:
  struct item {
    int peer = 0;
    std::vector<std::byte> message;   // a whole message to be sent, or
    operation* resume = nullptr;      // an operation whose next pieces are to be posted, or
    network::net_op op;               // a request as it is, whose buffers stay valid
    enum class type { message, resume, op } what = type::message;
  };

  bool empty() const { return count_.load(std::memory_order_acquire) == 0; }

  void push(item i) {
    std::lock_guard guard(lock_);
    items_.push_back(std::move(i));
    count_.store(items_.size(), std::memory_order_release);
  }

  /// Calls `submit(item&)` for each item, oldest first, until it has been refused; a refused item
  /// stays, and so do later ones to the same peer. True if any left the queue.
  template <class F>
  bool drain(F submit) {
    if (!lock_.try_lock()) return false;
    // Taken out while they are submitted, so that submit() may push without a deadlock.
    std::deque<item> batch;
    batch.swap(items_);
    lock_.unlock();
    std::deque<item> kept;
    std::vector<int> blocked;
    const size_t before = batch.size();
    for (item& i : batch) {
      bool refused = false;
      for (int peer : blocked) refused |= peer == i.peer;
      if (refused || !submit(i)) {
        if (!refused) blocked.push_back(i.peer);
        kept.push_back(std::move(i));
      }
    }
    std::lock_guard guard(lock_);
    const bool progressed = kept.size() < before;
    items_.insert(items_.begin(), std::make_move_iterator(kept.begin()),
                  std::make_move_iterator(kept.end()));
    count_.store(items_.size(), std::memory_order_release);
    return progressed;
  }

 private:
  spinlock lock_;
  std::deque<item> items_;        // under lock_
  std::atomic<size_t> count_{0};  // changes under lock_
};

}  // namespace lci::core
