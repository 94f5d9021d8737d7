// The backlog: requests that the network could not take yet, of callers that forbid `retry` (paper 4.1.5).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "lib/base/cpu.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "lib/core/operation/dependent.hpp"
#include "lib/core/operation/message_reserve.hpp"
#include "lib/core/operation/operation.hpp"
#include "network/fabric.hpp"

namespace lci::core {

/// FIFO queues of requests, one per peer, that progress submits again. Thread-safe, by a lock. Nearly always empty:
/// a counter spares the progress engine the lock then. A peer that accepts nothing costs one attempt per round,
/// however many requests wait for it. A reserve keeps messages of the library for which there is no memory.
class backlog {
 public:
  struct item {
    int peer = 0;
    std::vector<std::byte> message;  // type::message: header, body and payload
    uint32_t handle = 0;             // its operation's, if `awaited` is not 0
    awaited_packets awaited = {};    // its answer's kind; 0: none
    operation* completes = nullptr;  // ends when the message has been sent; null: none
    operation* resume = nullptr;     // type::resume: the operation whose next pieces are to be posted
    network::net_op op;              // type::op: its buffers stay valid
    dependent* rest = nullptr;       // type::rest: it has more to post
    // taken: moved out by drain()
    enum class type { message, resume, op, rest, taken } what = type::message;

    /// What the operation signals, if cancelling it has to find the item.
    const comp_impl_t* cancelled_as() const {
      if (what == type::rest) return rest->cancelled_as();
      const operation* of = what == type::resume ? resume : completes;
      return of != nullptr ? of->comp : nullptr;  // safe to read: the operation outlives its item
    }
  };

  /// `bit` of `flags` is set while the backlog is not empty; `flags` may combine it with other conditions.
  backlog(std::atomic<uint8_t>& flags, uint8_t bit) : flags_(flags), bit_(bit) {}

  bool empty() const { return count_.load(std::memory_order_acquire) == 0; }

  /// Returns whether something waits for `peer`: later requests to it must queue behind that.
  bool holds_back(int peer) { return LCI_UNLIKELY(!empty()) && has(peer); }

  /// Throws std::bad_alloc without memory; the caller then still owns the item.
  void push(item&& i) {
    {
      std::lock_guard guard(lock_);
      const auto to = queues_.try_emplace(i.peer).first;
      const size_t bytes = i.message.size();
      try {
        to->second.items.push_back(std::move(i));
      } catch (...) {
        if (to->second.items.empty()) queues_.erase(to);  // nothing waits for this peer
        throw;
      }
      to->second.bytes += bytes;
      count_up();
    }
    if (on_push != nullptr) on_push(on_push_argument);
  }

  /// Keeps a message of the library without memory, beside the queues. Returns false if it is too large, or if the
  /// reserve is full.
  LCI_COLD bool keep(int peer, const void* message, size_t size) {
    {
      std::lock_guard guard(lock_);
      if (!reserve_.keep(peer, message, size)) return false;
      n_kept_.fetch_add(1, std::memory_order_relaxed);
      count_up();
    }
    if (on_push != nullptr) on_push(on_push_argument);
    return true;
  }

  /// Bytes of the messages queued for `peer`.
  size_t bytes_for(int peer) {
    if (empty()) return 0;
    std::lock_guard guard(lock_);
    const auto at = queues_.find(peer);
    return at == queues_.end() ? 0 : at->second.bytes;
  }

  /// If it is not null, push() and keep() call it last, to wake threads that sleep while there is nothing to submit.
  /// Set it before the first push().
  void (*on_push)(void* argument) = nullptr;
  void* on_push_argument = nullptr;

  /// Moves the item of the cancelled operation with completion object `of` to the front of its queue, so that the
  /// operation ends soon.
  void move_to_front(const comp_impl_t* of) {
    if (empty()) return;
    const auto is_its = [of](const item& i) { return i.cancelled_as() == of; };
    std::lock_guard guard(lock_);
    for (auto& [peer, waiting] : queues_) {
      auto next = waiting.items.begin();
      if (next != waiting.items.end() && next->what == item::type::taken) ++next;
      const auto at = std::find_if(next, waiting.items.end(), is_its);
      if (at != waiting.items.end()) std::rotate(next, at, std::next(at));
    }
  }

  /// Calls `submit(item&)` for each peer's items, oldest first, until it returns false: that item and
  /// the later ones to the same peer stay. Returns whether any item left the queue. An item is counted until it
  /// has been submitted. submit() may push. If it throws, its item is removed.
  template <class F>
  bool drain(F submit) {
    // One thread at a time: items for one peer are submitted in order.
    if (!draining_.try_lock()) return false;
    std::lock_guard one(draining_, std::adopt_lock);
    peers_.clear();
    try {
      std::lock_guard guard(lock_);
      for (const auto& [peer, of] : queues_) peers_.emplace_back(peer, of.items.size());
    } catch (const std::bad_alloc&) {
      // Drain only the peers listed so far; a later call drains the others.
    }
    bool any = false;
    for (const auto& [peer, waiting] : peers_)
      for (size_t n = 0; n < waiting && drain_one(peer, submit); ++n) any = true;
    return any;
  }

  /// Calls `send(peer, bytes, size)` for the messages of the reserve, and removes those for which it returns true.
  /// Returns whether any was removed. If send() throws, its message is removed, and the last exception is thrown when
  /// all messages were tried. Allocates nothing otherwise.
  template <class F>
  bool drain_reserve(F send) {
    if (LCI_LIKELY(n_kept_.load(std::memory_order_relaxed) == 0) || !draining_.try_lock()) return false;
    std::lock_guard one(draining_, std::adopt_lock);
    std::exception_ptr thrown;
    const size_t gone = reserve_.drain([&](int peer, const std::byte* bytes, size_t size) {
      try {
        return send(peer, bytes, size);
      } catch (...) {
        thrown = std::current_exception();
        return true;
      }
    });
    if (gone == 0) return false;
    {
      std::lock_guard guard(lock_);
      n_kept_.fetch_sub(gone, std::memory_order_relaxed);
      count_down(gone);
    }
    if (LCI_UNLIKELY(thrown != nullptr)) std::rethrow_exception(thrown);
    return true;
  }

 private:
  LCI_COLD bool has(int peer) {
    std::lock_guard guard(lock_);
    return queues_.count(peer) != 0;
  }
  template <class F>
  bool drain_one(int peer, F& submit) {
    item i = take(peer);
    const size_t bytes = i.message.size();
    try {
      if (submit(i)) {
        remove_first(peer, bytes);
        return true;
      }
    } catch (...) {
      remove_first(peer, bytes);
      throw;
    }
    std::lock_guard guard(lock_);
    queues_.find(peer)->second.items.front() = std::move(i);
    return false;
  }

  void remove_first(int peer, size_t bytes) {
    std::lock_guard guard(lock_);  // count and flag change together
    const auto at = queues_.find(peer);
    at->second.bytes -= bytes;
    at->second.items.pop_front();
    if (at->second.items.empty()) queues_.erase(at);
    count_down(1);
  }

  // Under lock_.
  void count_up() {
    count_.fetch_add(1, std::memory_order_release);
    flags_.fetch_or(bit_, std::memory_order_release);
  }
  void count_down(size_t n) {
    if (count_.fetch_sub(n, std::memory_order_release) == n)
      flags_.fetch_and(static_cast<uint8_t>(~bit_), std::memory_order_release);
  }

  /// Moves out the oldest item but keeps its slot, so that putting it back needs no memory.
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
    size_t bytes = 0;  // of their messages, including the one being submitted
  };
  std::map<int, queue> queues_;  // by peer; under lock_
  message_reserve reserve_;
  std::atomic<size_t> count_{0};   // with the reserve's; changed under lock_
  std::atomic<size_t> n_kept_{0};  // in the reserve; changed under lock_
  std::atomic<uint8_t>& flags_;
  const uint8_t bit_;
};

}  // namespace lci::core
