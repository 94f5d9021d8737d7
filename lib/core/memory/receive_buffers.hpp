// The packets posted to a device's network as receive buffers.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "lib/core/memory/packet_pool.hpp"

namespace lci::core {

/// Records which packets are posted, because no network returns unused ones when its device is freed. Thread-safe,
/// lock-free. Not used for networks that need no receive buffers.
class receive_buffers {
 public:
  explicit receive_buffers(size_t capacity) : capacity_(capacity), slots_(new std::atomic<packet*>[capacity]) {
    for (size_t i = 0; i < capacity; ++i) slots_[i].store(nullptr, std::memory_order_relaxed);
  }

  /// Reserves a slot; follow with add() or cancel(). Returns false if all slots are in use.
  bool reserve() {
    if (count_.fetch_add(1, std::memory_order_acquire) < capacity_) return true;  // A1
    cancel();
    return false;
  }
  bool all_out() const { return count_.load(std::memory_order_relaxed) >= capacity_; }
  void cancel() { count_.fetch_sub(1, std::memory_order_relaxed); }

  void add(packet* p) {
    // A slot is free, thanks to reserve(); slots become free roughly in order.
    for (size_t i = next_.fetch_add(1, std::memory_order_relaxed);; ++i) {
      std::atomic<packet*>& slot = slots_[i % capacity_];
      packet* none = nullptr;
      if (slot.load(std::memory_order_relaxed) != nullptr ||
          !slot.compare_exchange_strong(none, p, std::memory_order_relaxed))
        continue;
      p->receive_slot = i % capacity_;
      return;
    }
  }

  void remove(packet* p) {
    slots_[p->receive_slot].store(nullptr, std::memory_order_relaxed);
    count_.fetch_sub(1, std::memory_order_release);  // R1: pairs with A1 in reserve()
  }

  /// Returns all posted packets to their pools, once the network no longer accesses them.
  void take_back() {
    for (size_t i = 0; i < capacity_; ++i)
      if (packet* p = slots_[i].exchange(nullptr, std::memory_order_relaxed)) p->pool->put(p);
  }

 private:
  const size_t capacity_;
  std::unique_ptr<std::atomic<packet*>[]> slots_;
  std::atomic<size_t> count_{0};
  std::atomic<size_t> next_{0};
};

}  // namespace lci::core
