// A queue of fixed size for any number of producers and consumers (paper 4.1.4: array_atomic).
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <type_traits>

#include "lib/base/cpu.hpp"

namespace lci {

/// A ring of cells with a ticket counter at each end. Thread-safe, lock-free except that an item becomes visible only
/// after its producer and all earlier ones have finished writing. One locked instruction for a push and one for a pop.
/// The counters move by compare-and-swap, not by fetch-and-add: a ticket can't be returned, so a fetch-and-add could
/// not report "full" (the published implementation overwrites items instead).
///
/// Memory orders. `turn` of a cell is 0 in fresh memory and means, relative to the ticket of the
/// cell's current round: 0 = free for that ticket, 1 = holds its item, capacity = free for the
/// next round. Exactly the holder of a ticket may touch the cell between "free" and "full"
/// (producer) and between "full" and "free again" (consumer), so the item is never written and read
/// at once:
///  - a producer's item is visible to the consumer by R1/A1 on `turn`;
///  - a consumer has finished reading before the next round's producer writes by R2/A2 on `turn`;
///  - the ticket counters only assign numbers, and publish nothing. They never wrap (64 bits), so a
///    compare-and-swap can't succeed on an old value, and `turn` never repeats one. The
///    producer's is sequentially consistent because parking relies on it (see parking.hpp): a
///    claim precedes the producer's check for sleepers.
template <class T, template <class> class Atom = std::atomic>
class bounded_queue {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// Holds at least `capacity` items (rounded up to a power of two). Pages of the ring are not
  /// touched before their first use.
  explicit bounded_queue(size_t capacity)
      : mask_(std::bit_ceil(capacity < 2 ? size_t{2} : capacity) - 1), memory_(std::calloc(mask_ + 2, sizeof(cell))) {
    if (!memory_) throw std::bad_alloc();
    // Zeroed memory is a valid cell, so no constructor needs to touch it.
    const auto address = reinterpret_cast<uintptr_t>(memory_);
    cells_ = reinterpret_cast<cell*>((address + sizeof(cell) - 1) & ~(sizeof(cell) - 1));
  }
  ~bounded_queue() { std::free(memory_); }
  bounded_queue(const bounded_queue&) = delete;
  bounded_queue& operator=(const bounded_queue&) = delete;

  size_t capacity() const { return mask_ + 1; }

  /// Returns false if the queue is full. `claimed()` is called when the item has its cell, before it becomes visible:
  /// once it is visible, a consumer may destroy the queue.
  template <class F>
  bool push(const T& item, F&& claimed) {
    uint64_t ticket = tail_.load(std::memory_order_relaxed);
    for (;;) {
      cell& c = cells_[ticket & mask_];
      const uint64_t round = ticket & ~uint64_t{mask_};
      const uint64_t turn = c.turn.load(std::memory_order_acquire);  // A2: pairs with R2 in pop()
      if (LCI_LIKELY(turn == round)) {
        if (LCI_LIKELY(tail_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_seq_cst,
                                                   std::memory_order_relaxed))) {
          claimed();
          c.item = item;
          c.turn.store(round + 1, std::memory_order_release);  // R1: pairs with A1 in pop()
          return true;
        }
      } else {
        const uint64_t now = tail_.load(std::memory_order_relaxed);
        if (now == ticket) return false;  // the cell still holds the item of the previous round
        ticket = now;
      }
    }
  }
  bool push(const T& item) {
    return push(item, [] {});
  }

  /// Returns false if the queue is empty, or if the oldest item is still being written.
  bool pop(T& out) {
    uint64_t ticket = head_.load(std::memory_order_relaxed);
    for (;;) {
      cell& c = cells_[ticket & mask_];
      const uint64_t round = ticket & ~uint64_t{mask_};
      const uint64_t turn = c.turn.load(std::memory_order_acquire);  // A1: pairs with R1 in push()
      if (LCI_LIKELY(turn == round + 1)) {
        if (LCI_LIKELY(head_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_relaxed,
                                                   std::memory_order_relaxed))) {
          out = c.item;
          c.turn.store(round + capacity(), std::memory_order_release);  // R2: pairs with A2
          return true;
        }
      } else {
        const uint64_t now = head_.load(std::memory_order_relaxed);
        if (now == ticket) return false;
        ticket = now;
      }
    }
  }

  /// Takes the oldest items, at most `max`, by one compare-and-swap, and returns their number. Fewer than `max` if
  /// there are no more, or if the next one is still being written.
  size_t pop_many(T* out, size_t max) {
    if (max > capacity()) max = capacity();
    uint64_t ticket = head_.load(std::memory_order_relaxed);
    while (max > 0) {
      size_t n = 0;
      while (n < max && turn_of(ticket + n).load(std::memory_order_acquire) ==  // A1
                            round_of(ticket + n) + 1)
        ++n;
      if (n == 0) {
        const uint64_t now = head_.load(std::memory_order_relaxed);
        if (now == ticket) break;
        ticket = now;
      } else if (head_.compare_exchange_weak(ticket, ticket + n, std::memory_order_relaxed,
                                             std::memory_order_relaxed)) {
        for (size_t i = 0; i < n; ++i) {
          out[i] = cells_[(ticket + i) & mask_].item;
          turn_of(ticket + i).store(round_of(ticket + i) + capacity(), std::memory_order_release);  // R2
        }
        return n;
      }
    }
    return 0;
  }

  /// Returns true if every item whose producer has claimed a cell before this call has been taken.
  bool idle() const {
    const uint64_t head = head_.load(std::memory_order_acquire);
    return tail_.load(std::memory_order_seq_cst) == head;
  }

 private:
  struct alignas(cache_line) cell {
    Atom<uint64_t> turn;
    T item;
  };
  static_assert(std::has_single_bit(sizeof(cell)), "cells are found by shifting");

  uint64_t round_of(uint64_t ticket) const { return ticket & ~uint64_t{mask_}; }
  Atom<uint64_t>& turn_of(uint64_t ticket) { return cells_[ticket & mask_].turn; }

  const size_t mask_;
  void* const memory_;
  cell* cells_;
  alignas(cache_line) Atom<uint64_t> tail_{0};  // next ticket of a producer
  alignas(cache_line) Atom<uint64_t> head_{0};  // next ticket of a consumer
};

}  // namespace lci
