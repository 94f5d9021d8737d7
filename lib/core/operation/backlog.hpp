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
#include <new>
#include <utility>
#include <vector>

#include "lib/concurrent/spinlock.hpp"
#include "lib/core/operation/operation.hpp"
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
    uint32_t handle = 0;              // if `awaited` is not 0: of the operation that waits for the answer,
    awaited_packets awaited = {};     // the kind of that answer, and
    operation* completes = nullptr;   // what ends when it has been (null: nobody asks), or
    operation* resume = nullptr;      // an operation whose next pieces are to be posted, or
    network::net_op op;               // a request as it is, whose buffers stay valid
    enum class type { message, resume, op, taken } what = type::message;  // taken: drain() has it
  };

  /// `bit` of `flags` is set while the backlog is not empty: for those who ask for more than that.
  backlog(std::atomic<uint8_t>& flags, uint8_t bit) : flags_(flags), bit_(bit) {}

  bool empty() const { return count_.load(std::memory_order_acquire) == 0; }

  /// If there is no memory for that it throws std::bad_alloc, and the item stays the caller's.
  void push(item&& i) {
    {
      std::lock_guard guard(lock_);
      queue& to = queues_[i.peer];
      const size_t bytes = i.message.size();
      to.items.push_back(std::move(i));
      to.bytes += bytes;
      count_.fetch_add(1, std::memory_order_release);
      flags_.fetch_or(bit_, std::memory_order_release);
    }
    if (on_push != nullptr) on_push(on_push_argument);
  }

  /// Bytes of messages that wait for the peer.
  size_t bytes_for(int peer) {
    if (empty()) return 0;
    std::lock_guard guard(lock_);
    const auto at = queues_.find(peer);
    return at == queues_.end() ? 0 : at->second.bytes;
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
    for (auto& [peer, of] : queues_) {
      auto next = of.items.begin();
      if (next != of.items.end() && next->what == item::type::taken) ++next;
      const auto at = std::find_if(next, of.items.end(), is_its);
      if (at != of.items.end()) std::rotate(next, at, std::next(at));
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
    try {
      std::lock_guard guard(lock_);
      for (const auto& [peer, of] : queues_) peers_.emplace_back(peer, of.items.size());
    } catch (const std::bad_alloc&) {
      // Those that there was room for; the others another time.
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
    const size_t bytes = i.message.size();
    try {
      if (submit(i)) {
        count_down(peer, bytes);
        return true;
      }
    } catch (...) {
      count_down(peer, bytes);
      throw;
    }
    std::lock_guard guard(lock_);
    queues_.find(peer)->second.items.front() = std::move(i);
    return false;
  }

  void count_down(int peer, size_t bytes) {
    std::lock_guard guard(lock_);  // the flag follows the count
    const auto at = queues_.find(peer);
    at->second.bytes -= bytes;
    at->second.items.pop_front();
    if (at->second.items.empty()) queues_.erase(at);
    if (count_.fetch_sub(1, std::memory_order_release) == 1)
      flags_.fetch_and(static_cast<uint8_t>(~bit_), std::memory_order_release);
  }

  /// Leaves its place, for it may have to go back, also where there is no memory.
  item take(int peer) {
    std::lock_guard guard(lock_);
    item& oldest = queues_.find(peer)->second.items.front();
    item i = std::move(oldest);
    oldest = item();
    oldest.what = item::type::taken;
    return i;
  }

  spinlock draining_;
  std::vector<std::pair<int, size_t>> peers_;  // under draining_
  spinlock lock_;
  struct queue {
    std::deque<item> items;
    size_t bytes = 0;  // of their messages, and of the one that is being submitted
  };
  std::map<int, queue> queues_;  // by peer; under lock_
  std::atomic<size_t> count_{0};           // changed under lock_
  std::atomic<uint8_t>& flags_;
  const uint8_t bit_;
};

}  // namespace lci::core
