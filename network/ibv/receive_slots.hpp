// The buffers posted to a shared receive queue, by slot number.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "network/fabric.hpp"

namespace lci::network::ibv {

/// take() needs the receive queue's lock; any thread that handles a completion may call give().
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

  /// The caller holds the receive queue's lock. Returns false if all are in use.
  bool take(uint32_t& number) {
    for (size_t tries = 0; tries < capacity_; ++tries) {
      const size_t i = next_;
      next_ = i + 1 == capacity_ ? 0 : i + 1;
      // A1: pairs with R1 in give(): the previous user has finished reading the slot.
      if (slots_[i].taken.load(std::memory_order_acquire)) continue;
      number = static_cast<uint32_t>(i);
      return true;
    }
    return false;
  }
  /// Call after take(), when the slot is filled in and before it is posted. Pairs with A2 in look_at(): between the two
  /// stands the card, which the memory model does not cover.
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
