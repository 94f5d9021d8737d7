// Fixed-size buffers for messages: per-thread deques; a thread whose deque is empty steals half of a random victim's
// packets (paper 4.1.2).
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "lci/operations.hpp"
#include "lib/base/cpu.hpp"
#include "lib/base/multiples.hpp"
#include "lib/base/objects.hpp"
#include "lib/base/thread_index.hpp"
#include "lib/concurrent/mpmc_array.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "lib/core/wire/wire.hpp"

namespace lci::core {

/// The head of a packet; the payload follows it. The wire header is last, so that header and
/// payload are one contiguous message and a user's packet is sent without a copy.
struct alignas(cache_line) packet {
  class packet_pool* pool;
  size_t receive_slot;  // while posted to a network as receive buffer: see receive_buffers
  packet* next_spare;   // while the pool could not store it in a deque
  std::byte unused[cache_line - 2 * sizeof(void*) - sizeof(size_t) - sizeof(wire::header)];
  wire::header head;

  std::byte* payload() { return reinterpret_cast<std::byte*>(this) + sizeof(packet); }
  static packet* of(void* payload) {
    return reinterpret_cast<packet*>(static_cast<std::byte*>(payload) - sizeof(packet));
  }
};
static_assert(sizeof(packet) == cache_line);

/// Owns its packets. Thread-safe. The arena takes up no physical memory until packets are used: a packet is touched
/// when it is first allocated.
class packet_pool : public object_memory<packet_pool, true> {
 public:
  explicit packet_pool(const packet_pool_attr_t& attr);
  /// A pool without packets, for devices that have no pool: posts need not test for null.
  struct hollow {
    size_t packet_size;
  };
  explicit packet_pool(hollow h) { attr = {h.packet_size, 0}; }
  ~packet_pool();
  packet_pool(const packet_pool&) = delete;
  packet_pool& operator=(const packet_pool&) = delete;

  /// Returns null if neither the thread's deque, nor fresh memory, nor one victim has a packet; or if there is no
  /// memory for a deque.
  packet* get() noexcept;
  void put(packet* p) noexcept;
  /// get() and put(), inlined for get_upacket() and put_upacket().
  /// Whatever calls another function is in get_slowly() and put_slowly(), so that the usual case needs no stack.
  LCI_ALWAYS_INLINE packet* get_inline() {
    deque* const mine = local_if_any();
    if (LCI_LIKELY(mine != nullptr) && LCI_LIKELY(mine->lock.try_lock())) {
      packet* const p = LCI_LIKELY(mine->head != mine->tail) ? mine->pop() : nullptr;
      mine->lock.unlock();
      if (LCI_LIKELY(p != nullptr)) return p;
    }
    return get_slowly();
  }
  LCI_ALWAYS_INLINE void put_inline(packet* p) {
    deque* const mine = local_if_any();
    if (LCI_UNLIKELY(mine == nullptr) || LCI_UNLIKELY(!mine->lock.try_lock())) return put_slowly(p);
    const bool has_room = !mine->is_full();
    if (LCI_LIKELY(has_room)) mine->push(p);
    mine->lock.unlock();
    if (LCI_UNLIKELY(!has_room)) put_slowly(p);
  }

  bool is_hollow() const { return attr.npackets == 0; }
  /// Largest payload of a packet.
  size_t payload_size() const { return attr.packet_size - sizeof(packet); }
  /// Returns whether the address is in this pool's memory.
  bool contains(const void* p) const {
    return reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(arena_) < arena_size_;
  }
  /// Returns whether `p` is the payload of one of this pool's packets.
  bool owns(const void* p) const {
    const size_t packet_at = reinterpret_cast<uintptr_t>(p) - reinterpret_cast<uintptr_t>(arena_) - sizeof(packet);
    return packet_at < arena_size_ && packet_at % cache_line == 0 && strides_.contain(packet_at / cache_line);
  }
  void* arena() const { return arena_; }
  size_t arena_size() const { return arena_size_; }
  /// Grants a device up to `n` packets as receive buffers of its network; all devices together get at most half of
  /// the packets. Thread-safe.
  size_t promise(size_t n) {
    size_t promised = promised_.load(std::memory_order_relaxed);
    size_t granted;
    do {
      granted = std::min(n, attr.npackets / 2 - promised);
    } while (!promised_.compare_exchange_weak(promised, promised + granted, std::memory_order_relaxed));
    return granted;
  }
  void take_back_promise(size_t n) { promised_.fetch_sub(n, std::memory_order_relaxed); }

  /// Packets that are free. Exact only while no thread uses the pool.
  size_t home() const;
  /// Returns whether this packet of the pool is free. Looks at all free packets.
  LCI_COLD bool is_free(const packet* p) const;

  packet_pool_attr_t attr;
  runtime_t runtime;
  std::atomic<int> registrations{0};  // with devices, which store this pool's address

 private:
  /// One thread's packets. The owner uses the tail; other threads steal from the head.
  struct alignas(cache_line) deque {
    mutable spinlock lock;
    // All that follows: under lock.
    size_t head = 0, tail = 0;
    size_t mask = 0;  // of `ring`, whose size is a power of two that grows
    std::unique_ptr<packet*[]> ring = std::make_unique<packet*[]>(1);

    size_t size() const { return tail - head; }
    bool is_full() const { return size() > mask; }
    /// There must be room.
    void push(packet* p) { ring[tail++ & mask] = p; }
    void push_or_grow(packet* p) {
      if (LCI_UNLIKELY(is_full())) grow();
      push(p);
    }
    packet* pop() { return ring[--tail & mask]; }
    packet* pop_head() { return ring[head++ & mask]; }
    LCI_NOINLINE void grow();
  };

  deque* local_if_any() const {
    const int index = thread_index_if_known();
    return LCI_LIKELY(index >= 0) ? deques_.get(static_cast<size_t>(index)) : nullptr;
  }
  deque& local();
  LCI_NOINLINE packet* get_slowly() noexcept;
  LCI_NOINLINE void put_slowly(packet* p) noexcept;
  /// Stores the packet in the deque, which is locked; without memory among the spare ones.
  void store_in(deque& mine, packet* p) noexcept;
  void keep_spare(packet* p);
  packet* take_spare();
  packet* refill(deque& mine) noexcept;

  std::byte* arena_ = nullptr;
  size_t arena_size_ = 0;
  size_t stride_ = 0;                                 // from one packet to the next
  multiples strides_{1};                              // in cache lines
  alignas(cache_line) std::atomic<size_t> fresh_{0};  // packets that were ever allocated
  mpmc_array<deque*> deques_;                         // by thread index
  mutable spinlock create_lock_;
  mutable spinlock spare_lock_;
  packet* spare_ = nullptr;             // a list; under spare_lock_
  std::atomic<bool> has_spare_{false};  // a hint
  std::atomic<size_t> promised_{0};
};

}  // namespace lci::core
