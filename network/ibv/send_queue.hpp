// Accounting of a queue pair's send queue: free space, which requests must be signalled, and their owners.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "lib/base/cpu.hpp"

namespace lci::network::ibv {

/// Requests are numbered as they are posted and complete in that order; a completion also covers all requests before
/// it. So not every request needs one: with one per quarter of the queue's length, a full queue always holds a request
/// whose completion is still to come. (A failed queue pair completes every request individually.)
///
/// At most two threads use it at once: one that posts and holds the queue pair's lock, and one that reads completions
/// and holds the completion queue's lock.
class send_queue {
 public:
  void make(uint32_t depth, uint32_t reserved) {
    depth_ = depth;
    reserved_ = std::min(reserved, depth - 1);
    longest_silence_ = std::max<uint32_t>(depth / 4, 1);
    owners_.reset(new std::atomic<void*>[depth]());
  }

  // --- the caller holds the queue pair's lock ---

  /// `reserved`: may use the space reserved for the library's own messages, too.
  bool has_room(bool reserved) const {
    // A2: pairs with R2 in complete(): the slot's previous owner has been read.
    const uint32_t under_way = posted_ - completed_.load(std::memory_order_acquire);
    return under_way < (reserved ? depth_ : depth_ - reserved_);
  }
  bool is_empty() const { return posted_ == completed_.load(std::memory_order_acquire); }
  /// Returns whether the next request must be signalled.
  bool must_signal() const { return silent_ + 1 >= longest_silence_; }

  /// Returns the number of the next request. Its completion returns `owner` (null: none).
  uint32_t begin(void* owner) {
    // R1: pairs with A1 in complete(). Between them stands the card, which the memory model does not cover.
    owners_[posted_ % depth_].store(owner, std::memory_order_release);
    return posted_;
  }
  /// The request was posted.
  void end(bool signalled) {
    ++posted_;
    silent_ = signalled ? 0 : silent_ + 1;
  }

  // --- the caller holds the completion queue's lock ---

  /// Handles the completion of the request with this number; returns its owner.
  void* complete(uint32_t number) {
    void* const owner = owners_[number % depth_].load(std::memory_order_acquire);  // A1
    completed_.store(number + 1, std::memory_order_release);                       // R2
    return owner;
  }

 private:
  uint32_t depth_ = 1;
  uint32_t reserved_ = 0;
  uint32_t longest_silence_ = 1;
  uint32_t posted_ = 0;  // under the queue pair's lock
  uint32_t silent_ = 0;  // under the queue pair's lock: requests since the last signalled one
  std::unique_ptr<std::atomic<void*>[]> owners_;
  alignas(cache_line) std::atomic<uint32_t> completed_{0};  // written under the completion queue's lock
};

}  // namespace lci::network::ibv
