// Requests that can't be submitted now and can't be handed back to the user either (paper 4.1.5).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "lib/concurrent/spinlock.hpp"
#include "lib/core/operation.hpp"
#include "network/fabric.hpp"

namespace lci::core {

/// Thread-safe. Expected to be empty nearly always: plain queues, one a peer, under a lock, with a
/// counter that spares the progress engine from looking at empty ones. A peer that takes nothing
/// costs one attempt a round, however much waits for it.
class backlog {
 public:
  struct item {
    int peer = 0;
    std::vector<std::byte> message;   // a whole message to be sent, and
    operation* completes = nullptr;   // what ends when it has been (null: nobody asks), or
    operation* resume = nullptr;      // an operation whose next pieces are to be posted, or
    network::net_op op;               // a request as it is, whose buffers stay valid
    enum class type { message, resume, op } what = type::message;
  };

  /// `bit` of `flags` is set while the backlog is not empty: for those who ask for more than that.
  backlog(std::atomic<uint8_t>& flags, uint8_t bit) : flags_(flags), bit_(bit) {}

  bool empty() const { return count_.load(std::memory_order_acquire) == 0; }

  void push(item i) {
    {
      std::lock_guard guard(lock_);
      items_[i.peer].push_back(std::move(i));
      count_.fetch_add(1, std::memory_order_release);
      flags_.fetch_or(bit_, std::memory_order_release);
    }
    if (on_push != nullptr) on_push(on_push_argument);
  }

  /// Called after each push(), if set: for threads that sleep while there is nothing to submit. To be
  /// set before the first push().
  void (*on_push)(void* argument) = nullptr;
  void* on_push_argument = nullptr;

  /// Those of a cancelled operation, whose completion object this is, come next: to end it.
  void hurry(const comp_impl_t* of) {
    if (empty()) return;
    const auto is_its = [of](const item& i) {
      const operation* op = i.what == item::type::resume ? i.resume : i.completes;
      return op != nullptr && op->comp == of;  // it is alive as long as its item is here
    };
    std::lock_guard guard(lock_);
    for (auto& [peer, queue] : items_) {
      const auto at = std::find_if(queue.begin(), queue.end(), is_its);
      if (at != queue.end()) std::rotate(queue.begin(), at, std::next(at));
    }
  }

  /// Calls `submit(item&)` for each peer's items, oldest first, until it refuses one: that item and
  /// the later ones to the same peer stay. True if any left the queue. An item is counted until it
  /// has been submitted. submit() may push, and may throw: then its item is gone.
  template <class F>
  bool drain(F submit) {
    // One thread at a time: what goes to one peer shall go in order.
    if (!draining_.try_lock()) return false;
    std::lock_guard one(draining_, std::adopt_lock);
    peers_.clear();
    {
      std::lock_guard guard(lock_);
      for (const auto& [peer, queue] : items_) peers_.emplace_back(peer, queue.size());
    }
    bool any = false;
    for (const auto& [peer, waiting] : peers_)
      for (size_t n = 0; n < waiting && drain_one(peer, submit); ++n) any = true;
    return any;
  }

 private:
  template <class F>
  bool drain_one(int peer, F& submit) {
    item i = take(peer);
    try {
      if (submit(i)) {
        count_down(peer);
        return true;
      }
    } catch (...) {
      count_down(peer);
      throw;
    }
    std::lock_guard guard(lock_);
    items_[peer].push_front(std::move(i));
    return false;
  }

  void count_down(int peer) {
    std::lock_guard guard(lock_);  // the flag follows the count
    const auto at = items_.find(peer);
    if (at->second.empty()) items_.erase(at);
    if (count_.fetch_sub(1, std::memory_order_release) == 1)
      flags_.fetch_and(static_cast<uint8_t>(~bit_), std::memory_order_release);
  }

  /// Leaves a queue that is empty then: the item may have to go back, as often as there is no room for it.
  item take(int peer) {
    std::lock_guard guard(lock_);
    std::deque<item>& queue = items_.find(peer)->second;
    item i = std::move(queue.front());
    queue.pop_front();
    return i;
  }

  spinlock draining_;
  std::vector<std::pair<int, size_t>> peers_;  // under draining_
  spinlock lock_;
  std::map<int, std::deque<item>> items_;  // by peer, none empty but while drained; under lock_
  std::atomic<size_t> count_{0};           // changed under lock_
  std::atomic<uint8_t>& flags_;
  const uint8_t bit_;
};

}  // namespace lci::core
