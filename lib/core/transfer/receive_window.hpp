// The window of large active messages being received, and the requests that wait for room in it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>

#include "lib/concurrent/spinlock.hpp"
#include "lib/core/wire/wire.hpp"

namespace lci::core {

/// Limits how many large active messages of a peer are received at a time. Each needs its own buffer. A few in flight
/// keep both processes busy; more would touch memory that is in no cache, or whose pages have yet to be faulted in.
/// The window admits messages of one peer at a time, at most `most` of them. Further requests of that peer wait here;
/// messages of other peers are received without being counted. Owned by a device. Thread-safe.
class receive_window {
 public:
  static constexpr int most = 4;                      ///< messages in the window
  static constexpr size_t largest = size_t{1} << 20;  ///< bytes of the largest message that enters the window

  struct request {
    int peer;
    tag_t tag;
    uint32_t comp;
    wire::rts_body rts;
  };

  /// `attention` counts the device's reasons to do more than poll; this class adds one while requests wait.
  explicit receive_window(std::atomic<int>& attention) : attention_(attention) {}

  /// Admits one more message of `peer`; end() removes it. Returns false if the window is full, or in use by another
  /// peer.
  bool begin(int peer) {
    state before = state_.load(std::memory_order_relaxed);
    do {
      if (before.count != 0 && (before.peer != peer || before.count == most)) return false;
    } while (!state_.compare_exchange_weak(before, {peer, before.count + 1}, std::memory_order_relaxed));
    return true;
  }
  void end() {
    state before = state_.load(std::memory_order_relaxed);
    while (!state_.compare_exchange_weak(before, {before.peer, before.count - 1}, std::memory_order_relaxed)) {
    }
  }
  bool is_full_of(int peer) const {
    const state now = state_.load(std::memory_order_relaxed);
    return now.count == most && now.peer == peer;
  }

  /// Relaxed: progress asks in each round, and may see a request one round later.
  bool has_requests() const { return n_requests_.load(std::memory_order_relaxed) != 0; }
  /// Throws std::bad_alloc.
  void wait(const request& r) {
    std::lock_guard guard(lock_);
    requests_.push_back(r);
    count_requests();
  }
  /// Removes the oldest request if `may_start(request)` is true. Returns false if it has removed none.
  template <class F>
  bool take(request& r, F may_start) {
    std::lock_guard guard(lock_);
    if (requests_.empty() || !may_start(requests_.front())) return false;
    r = requests_.front();
    requests_.pop_front();
    count_requests();
    return true;
  }
  /// Removes the oldest request of `peer`, of any peer if that is negative. Returns false if there is none. Allocates
  /// no memory.
  bool take_of(int peer, request& r) {
    std::lock_guard guard(lock_);
    const auto is_its = [peer](const request& each) { return peer < 0 || each.peer == peer; };
    const auto at = std::find_if(requests_.begin(), requests_.end(), is_its);
    if (at == requests_.end()) return false;
    r = *at;
    requests_.erase(at);
    count_requests();
    return true;
  }

 private:
  void count_requests() {
    const size_t before = n_requests_.exchange(requests_.size(), std::memory_order_relaxed);
    attention_.fetch_add(int{!requests_.empty()} - int{before != 0}, std::memory_order_relaxed);
  }

  // Aligned as one word: otherwise some compilers call libatomic.
  struct alignas(2 * sizeof(int)) state {
    int peer, count;
  };
  // Relaxed: the operations themselves publish the data that has arrived.
  std::atomic<state> state_{state{0, 0}};
  std::atomic<int>& attention_;
  spinlock lock_;
  std::deque<request> requests_;       // under lock_
  std::atomic<size_t> n_requests_{0};  // changed under lock_
};

}  // namespace lci::core
