// Flow control: how many messages a peer may send before it needs an acknowledgement, so that a receive buffer is
// posted for each message. Without a buffer the peer's card would retry, and delay all messages behind that one.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "lib/base/cpu.hpp"
#include "lib/concurrent/attempt.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "network/common/ring.hpp"

namespace lci::network::ibv {

/// Each rank grants the same window to all peers: a peer may have at most that many messages in flight that have not
/// been acknowledged as taken. The acknowledgement is a write into the peer's memory, which needs no receive buffer
/// there.
///
/// Thread-safe, except where noted.
class credits {
 public:
  explicit credits(size_t n_peers)
      : n_peers_(n_peers), peers_(new account[n_peers]()), acknowledged_to_us_(new std::atomic<uint32_t>[n_peers]()) {
    due_.reserve(n_peers);
  }

  /// Computes the window from the number of posted buffers, such that they suffice even if all peers send at once. If
  /// there are so many ranks that the window would be below `smallest_window`, that is used instead; then buffers may
  /// run out, and cards retry. Call before any message arrives.
  uint32_t open() {
    const int64_t buffers = posted_.load(std::memory_order_relaxed);
    const auto n = static_cast<int64_t>(n_peers_);
    window_ =
        static_cast<uint32_t>(std::max({(buffers - buffers / 8) / n, std::min(smallest_window, buffers), int64_t{1}}));
    granted_ = std::min(buffers, window_ * n);
    return window_;
  }

  // --- as a sender ---

  /// Sets the peer's window; before the first message to it.
  void set_window(int peer, uint32_t window) { at(peer).its_window = window; }
  /// The caller of the next three holds the lock of the peer's queue pair.
  bool may_send(int peer) const {
    const account& a = peers_[static_cast<size_t>(peer)];
    // Written by the peer's card. Relaxed: it is a count of buffers, and orders nothing.
    return a.sent - acknowledged_to_us_[static_cast<size_t>(peer)].load(std::memory_order_relaxed) < a.its_window;
  }
  void sent(int peer) { ++at(peer).sent; }

  /// The array that peers write: a word for each. Must be registered.
  void* memory() { return acknowledged_to_us_.get(); }
  size_t memory_size() const { return n_peers_ * sizeof(acknowledged_to_us_[0]); }

  // --- as a receiver ---

  void buffer_posted() { posted_.fetch_add(1, std::memory_order_relaxed); }
  void buffer_used() { posted_.fetch_sub(1, std::memory_order_relaxed); }
  /// A message of the peer has been taken; an acknowledgement may now be due.
  void taken(int peer) {
    account& a = at(peer);
    unacknowledged_.fetch_add(1, std::memory_order_relaxed);
    const uint32_t n = a.taken.fetch_add(1, std::memory_order_relaxed) + 1;
    if (!is_due(n, a.acknowledged.load(std::memory_order_relaxed))) return;
    std::lock_guard guard(due_lock_);
    if (!a.due) add_due(peer);
  }
  bool any_due() const { return n_due_.load(std::memory_order_relaxed) != 0; }

  /// Calls `post(peer, n)` for each peer whose acknowledgement is due; `n` of its messages have been taken. `post`
  /// returns whether it could post. Needs no memory: an acknowledgement that is lost would leave the peer waiting.
  template <class F>
  void acknowledge_due(F post) {
    // One thread at a time: two would count the same free buffers.
    const attempt acknowledging(acknowledging_lock_);
    if (acknowledging.failed()) return;
    for (size_t left = n_due_.load(std::memory_order_relaxed); left > 0; --left) {
      const int peer = take_due();
      account& a = at(peer);
      const uint32_t before = a.acknowledged.load(std::memory_order_relaxed);
      const uint32_t waiting = a.taken.load(std::memory_order_relaxed) - before;
      const auto n = static_cast<uint32_t>(std::clamp<int64_t>(free_buffers(), 0, waiting));
      const bool posted = n != 0 && post(peer, before + n);
      if (posted) unacknowledged_.fetch_sub(n, std::memory_order_relaxed);
      std::lock_guard guard(due_lock_);
      if (posted) a.acknowledged.store(before + n, std::memory_order_relaxed);
      // Messages taken meanwhile may have used up the peer's window, so check again: the peer would not send any more.
      a.due = false;
      if (!posted || is_due(a.taken.load(std::memory_order_relaxed), before + n)) add_due(peer);
    }
  }

 private:
  static constexpr int64_t smallest_window = 16;

  struct alignas(cache_line) account {
    uint32_t sent = 0;        // under the queue pair's lock
    uint32_t its_window = 0;  // set once
    std::atomic<uint32_t> taken{0};
    std::atomic<uint32_t> acknowledged{0};  // written under acknowledging_lock_
    bool due = false;                       // under due_lock_
  };
  bool is_due(uint32_t taken, uint32_t acknowledged) const {
    return taken - acknowledged >= std::max<uint32_t>(window_ / 2, 1);
  }
  void add_due(int peer) {  // under due_lock_
    at(peer).due = true;
    due_.push_back(peer);
    n_due_.store(due_.size(), std::memory_order_relaxed);
  }
  /// There is an entry, and only the caller takes any: under acknowledging_lock_. The account stays `due`.
  int take_due() {
    std::lock_guard guard(due_lock_);
    const int peer = due_.pop_front();
    n_due_.store(due_.size(), std::memory_order_relaxed);
    return peer;
  }
  account& at(int peer) { return peers_[static_cast<size_t>(peer)]; }

  /// Buffers left if all peers use up their windows at once. Negative if the program holds many.
  int64_t free_buffers() const {
    const int64_t taken = std::min<int64_t>(unacknowledged_.load(std::memory_order_relaxed), granted_);
    return posted_.load(std::memory_order_relaxed) - (granted_ - taken);
  }

  uint32_t window_ = 0;
  int64_t granted_ = 0;  // sum of all windows, limited by the number of buffers
  const size_t n_peers_;
  const std::unique_ptr<account[]> peers_;
  const std::unique_ptr<std::atomic<uint32_t>[]> acknowledged_to_us_;  // messages that each peer has taken
  std::atomic<int64_t> posted_{0};                                     // posted to the card
  std::atomic<int64_t> unacknowledged_{0};  // messages taken but not acknowledged, of all peers
  spinlock acknowledging_lock_;             // only tried
  spinlock due_lock_;
  ring<int> due_;                 // under due_lock_; has space for all peers
  std::atomic<size_t> n_due_{0};  // size of due_
};

}  // namespace lci::network::ibv
