// Large active messages on their way in, and requests that wait for one of them to arrive.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "lib/concurrent/spinlock.hpp"
#include "lib/core/wire.hpp"

namespace lci::core {

/// A large active message arrives in memory of its own. If its sender copies or writes, several may be under way: a few
/// keep both processes at work, while more would all need memory at once, which is in no cache, or not even
/// there (the kernel makes its pages when they are touched first). So some land at a time, of one peer at a
/// time; further requests of that peer wait, and what others send arrives in other ways. Thread-safe.
class landing {
 public:
  /// So many land at a time, each at most so large.
  static constexpr int most = 4;
  static constexpr size_t largest = size_t{1} << 20;

  struct request {
    int peer;
    tag_t tag;
    uint32_t comp;
    wire::rts_body rts;
  };

  /// `attention` is counted up while there are requests.
  explicit landing(std::atomic<int>& attention) : attention_(attention) {}

  /// One more of that peer lands, until end(), if there is room.
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

  /// Relaxed: who asks in each round need not see one of this moment.
  bool has_requests() const { return n_requests_.load(std::memory_order_relaxed) != 0; }
  void wait(const request& r) {
    std::lock_guard guard(lock_);
    requests_.push_back(r);
    count_requests();
  }
  /// The oldest request, if `may_start` says so of it.
  template <class F>
  bool take(request& r, F may_start) {
    std::lock_guard guard(lock_);
    if (requests_.empty() || !may_start(requests_.front())) return false;
    r = requests_.front();
    requests_.pop_front();
    count_requests();
    return true;
  }
  /// Takes those of a peer, or all if that is negative.
  std::vector<request> forget(int peer) {
    std::lock_guard guard(lock_);
    std::vector<request> its;
    const auto is_its = [peer, &its](const request& r) {
      if (peer >= 0 && r.peer != peer) return false;
      its.push_back(r);
      return true;
    };
    requests_.erase(std::remove_if(requests_.begin(), requests_.end(), is_its), requests_.end());
    count_requests();
    return its;
  }

 private:
  void count_requests() {
    const size_t before = n_requests_.exchange(requests_.size(), std::memory_order_relaxed);
    attention_.fetch_add(int{!requests_.empty()} - int{before != 0}, std::memory_order_relaxed);
  }

  // Aligned as one word: without it some compilers call a library for its atomic accesses.
  struct alignas(2 * sizeof(int)) state {
    int peer, count;
  };
  // Relaxed: what lands is handed over by the operations themselves.
  std::atomic<state> state_{state{0, 0}};
  std::atomic<int>& attention_;
  spinlock lock_;
  std::deque<request> requests_;       // under lock_
  std::atomic<size_t> n_requests_{0};  // changed under lock_
};

}  // namespace lci::core
