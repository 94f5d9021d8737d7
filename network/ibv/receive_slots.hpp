// The buffers that a shared receive queue holds: what was posted under which number.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "network/fabric.hpp"

namespace lci::network::ibv {

/// Slots are taken under the receive queue's lock, and given back by whoever handles a completion.
class receive_slots {
 public:
  struct slot {
    segment buffer;
    void* context;
    std::atomic<bool> taken{false};
  };

  void make(size_t capacity) {
    capacity_ = capacity;
    slots_ = std::make_unique<slot[]>(capacity);
  }

  slot& operator[](uint32_t number) { return slots_[number]; }

  /// Under the receive queue's lock. False: all are in use.
  bool take(uint32_t& number) {
    for (size_t tries = 0; tries < capacity_; ++tries) {
      const size_t i = next_;
      next_ = i + 1 == capacity_ ? 0 : i + 1;
      // A1: pairs with R1 in give(): what the last one read of the slot, it has read.
      if (slots_[i].taken.load(std::memory_order_acquire)) continue;
      number = static_cast<uint32_t>(i);
      return true;
    }
    return false;
  }
  /// After take(), with the slot filled in and before the queue has it. Pairs with A2 in look_at(): the card
  /// is between them, which no memory model knows.
  void publish(uint32_t number) { slots_[number].taken.store(true, std::memory_order_release); }  // R2
  /// The slot of a completion.
  slot& look_at(uint32_t number) {
    (void)slots_[number].taken.load(std::memory_order_acquire);  // A2
    return slots_[number];
  }
  void give(uint32_t number) { slots_[number].taken.store(false, std::memory_order_release); }  // R1

 private:
  size_t capacity_ = 0;
  size_t next_ = 0;  // under the receive queue's lock
  std::unique_ptr<slot[]> slots_;
};

}  // namespace lci::network::ibv
