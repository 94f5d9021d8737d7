// The account of a queue pair's send queue: how much room there is, which requests must be signalled, and
// whose they are.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "lib/base/cpu.hpp"

namespace lci::network::ibv {

/// Requests are numbered as they are posted, and complete in that order; a completion speaks for all
/// requests before it, too. So not every one needs a completion: one in a quarter of the queue's length
/// does, then a full queue always holds one that has yet to come. (A queue pair that fails completes
/// every request, each by itself.)
///
/// Two threads at most: one that posts and holds the lock of the queue pair, one that takes completions
/// and holds the lock of the completion queue.
class send_queue {
 public:
  void make(uint32_t depth, uint32_t reserved) {
    depth_ = depth;
    reserved_ = std::min(reserved, depth - 1);
    longest_silence_ = std::max<uint32_t>(depth / 4, 1);
    owners_.reset(new std::atomic<void*>[depth]());
  }

  // --- by who holds the queue pair's lock ---

  /// `reserved`: also what is kept for the library's own messages.
  bool has_room(bool reserved) const {
    // A2: pairs with R2 in complete(): the slot's former owner has been read.
    const uint32_t under_way = posted_ - completed_.load(std::memory_order_acquire);
    return under_way < (reserved ? depth_ : depth_ - reserved_);
  }
  bool is_empty() const { return posted_ == completed_.load(std::memory_order_acquire); }
  /// The next request must have a completion.
  bool must_signal() const { return silent_ + 1 >= longest_silence_; }

  /// The number of the next request, whose completion is told to `owner` (null: to none).
  uint32_t begin(void* owner) {
    // R1: pairs with A1 in complete(). The card is between them, which no memory model knows.
    owners_[posted_ % depth_].store(owner, std::memory_order_release);
    return posted_;
  }
  /// It is posted.
  void end(bool signalled) {
    ++posted_;
    silent_ = signalled ? 0 : silent_ + 1;
  }

  // --- by who holds the completion queue's lock ---

  /// A completion of the request with this number: returns its owner.
  void* complete(uint32_t number) {
    void* const owner = owners_[number % depth_].load(std::memory_order_acquire);  // A1
    completed_.store(number + 1, std::memory_order_release);                       // R2
    return owner;
  }

 private:
  uint32_t depth_ = 1;
  uint32_t reserved_ = 0;
  uint32_t longest_silence_ = 1;
  uint32_t posted_ = 0;  // queue pair's lock
  uint32_t silent_ = 0;  // queue pair's lock: requests since the last that is signalled
  std::unique_ptr<std::atomic<void*>[]> owners_;
  alignas(cache_line) std::atomic<uint32_t> completed_{0};  // written under the completion queue's lock
};

}  // namespace lci::network::ibv
