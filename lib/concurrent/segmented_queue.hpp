// An unbounded queue for any number of producers and consumers, made of fetch-and-add segments.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <type_traits>

#include "lib/base/cpu.hpp"
#include "lib/base/memory.hpp"
#include "lib/concurrent/spinlock.hpp"

namespace lci {

/// The queue in place of the paper's LCRQ (4.1.4), without 16-byte atomics. A list of segments of N cells; producers
/// take tickets of the last segment by fetch-and-add, consumers of the first one by compare-and-swap (so that a pop of
/// an empty queue writes nothing). One locked instruction for a push and one for a pop; a lock is taken once every N
/// items, when a segment is added or retired. An item becomes visible after its producer and all earlier ones have
/// finished writing. Thread-safe. Owns its segments until destruction.
///
/// A segment is in one of four states: the last one ("open": tickets left), between last and first, the
/// first one ("current"), or retired. Transitions happen under the lock. A "life" of a segment is the time from one
/// opening to the next.
///
/// Reclamation. Segments are not freed before the queue, so a delayed thread with an old pointer always
/// accesses a segment. Its fetch-and-add or compare-and-swap does no harm either, because the word
/// that it changes also decides whether it succeeds:
///  - `tail` has tickets left exactly while the segment is open. A late producer either gets no
///    ticket (and loads the last segment again) or one of the segment's new life, which is valid:
///    the segment is the last of the list then.
///  - `head` has tickets left only while the segment is current, and holds the number of the
///    segment's life in its upper half, so no value recurs (within 2^32 lives) and a
///    compare-and-swap with an old one fails.
///  - A retired segment gets a new life only when all its cells are marked empty: then no consumer is
///    still reading one of them.
///
/// Memory orders.
///  - Item: written before R1 (cell full), read after A1. Read before R2 (cell empty); the lock's
///    holder sees that with A2 before it opens the segment again with R3, and a producer's
///    fetch-and-add A3 comes after that: so the next life's item is written after the last
///    life's was read. (Other producers' fetch-and-adds continue R3's release sequence.)
///  - A consumer that reads `head` of a life with A4 sees what R4 published: cells of earlier
///    lives are empty. Since `head` never returns to a value, a successful compare-and-swap
///    proves that the cell inspected in between was of the same life; it may be relaxed.
///  - Pointers to segments: R5/A5, R6/A6, R7/A7 publish the segment's construction.
///  - The fetch-and-add is sequentially consistent because parking relies on it (parking.hpp): a
///    claim precedes the producer's check for sleepers. For the same purpose idle() takes
///    the lock: either it sees a segment, or the segment was opened after the lock was released,
///    and then its producers see the sleeper.
template <class T, template <class> class Atom = std::atomic, size_t N = 128>
class segmented_queue {
  static_assert(std::is_trivially_copyable_v<T>);
  static_assert(N % 4 == 0, "cells are inspected in fours");

 public:
  segmented_queue() {
    segment* s = new segment;
    s->tail.store(0, std::memory_order_relaxed);
    s->head.store(0, std::memory_order_relaxed);
    first_.store(s, std::memory_order_relaxed);
    last_.store(s, std::memory_order_relaxed);
  }
  ~segmented_queue() {
    destroy(first_.load(std::memory_order_relaxed));
    destroy(retired_);
  }
  segmented_queue(const segmented_queue&) = delete;
  segmented_queue& operator=(const segmented_queue&) = delete;

  /// `claimed()` is called when the item has its cell, before it becomes visible: once it is visible, a
  /// consumer may destroy the queue.
  template <class F>
  void push(const T& item, F&& claimed) {
    cell* c = claim();
    for (; LCI_UNLIKELY(c == nullptr); c = claim()) grow();
    claimed();
    fill(c, item);
  }
  void push(const T& item) {
    push(item, [] {});
  }

  struct alignas(cache_line) cell {
    Atom<uint32_t> full{0};
    T item;
  };

  // A push in two steps, for a caller that goes on to push() if the first one returns null.
  /// Returns the cell of the next item, which the caller must fill at once, or null if the last segment is used up.
  cell* claim() {
    segment* s = last_.load(std::memory_order_acquire);  // A5
    // Tickets beyond N are unused, which is harmless: each thread takes at most two in each life of a
    // segment, too few to carry into the upper half.
    const auto i = static_cast<uint32_t>(s->tail.fetch_add(1, std::memory_order_seq_cst));  // A3
    return LCI_LIKELY(i < N) ? &s->cells[i] : nullptr;
  }
  static void fill(cell* c, const T& item) {
    c->item = item;
    c->full.store(1, std::memory_order_release);  // R1: pairs with A1 in take()
  }

  /// One attempt of take(), without a call of another function. Null also where another consumer was faster, and where
  /// the first segment is used up.
  cell* try_take() {
    segment* s = first_.load(std::memory_order_acquire);        // A6
    uint64_t ticket = s->head.load(std::memory_order_acquire);  // A4
    const auto i = static_cast<uint32_t>(ticket);
    if (LCI_UNLIKELY(i >= N)) return nullptr;
    cell& c = s->cells[i];
    if (!c.full.load(std::memory_order_acquire)) return nullptr;  // A1: pairs with R1 in fill()
    return LCI_LIKELY(s->head.compare_exchange_strong(ticket, ticket + 1, std::memory_order_relaxed,
                                                      std::memory_order_relaxed))
               ? &c
               : nullptr;
  }
  /// The cell of the oldest item, which the caller owns until it calls empty(); null if the queue is empty, or if the
  /// oldest item is still being written.
  cell* take() {
    for (;;) {
      segment* s = first_.load(std::memory_order_acquire);        // A6
      uint64_t ticket = s->head.load(std::memory_order_acquire);  // A4
      const auto i = static_cast<uint32_t>(ticket);
      if (LCI_LIKELY(i < N)) {
        cell& c = s->cells[i];
        if (!c.full.load(std::memory_order_acquire)) {  // A1: pairs with R1 in fill()
          // Empty, unless another consumer has just emptied the cell.
          if (s->head.load(std::memory_order_relaxed) == ticket) return nullptr;
        } else if (LCI_LIKELY(s->head.compare_exchange_strong(ticket, ticket + 1, std::memory_order_relaxed,
                                                              std::memory_order_relaxed))) {
          return &c;
        }
      } else if (!advance(s, ticket)) {
        return nullptr;
      }
    }
  }
  static void empty(cell* c) {
    c->full.store(0, std::memory_order_release);  // R2: pairs with A2 in take_retired()
  }
  /// Copies and removes the oldest item; false where take() returns null.
  bool pop(T& out) {
    cell* c = take();
    if (!c) return false;
    out = c->item;
    empty(c);
    return true;
  }
  /// Copies and removes the oldest items, at most `max`, and returns their number. Takes all written and contiguous
  /// items of a segment by one compare-and-swap. Fewer than `max` if there are no more, or if the
  /// next one is still being written.
  size_t pop_many(T* out, size_t max) {
    size_t n = 0;
    while (n < max) {
      segment* s = first_.load(std::memory_order_acquire);        // A6
      uint64_t ticket = s->head.load(std::memory_order_acquire);  // A4
      const auto i = static_cast<uint32_t>(ticket);
      if (LCI_UNLIKELY(i >= N)) {
        if (!advance(s, ticket)) break;
        continue;
      }
      // As in take(), a successful compare-and-swap proves that all these cells were of this life.
      const size_t end = N - i < max - n ? N : i + (max - n);
      size_t k = i;
      while (k < end && s->cells[k].full.load(std::memory_order_acquire)) ++k;  // A1
      if (k == i) {
        if (s->head.load(std::memory_order_relaxed) == ticket) break;
        continue;
      }
      if (!s->head.compare_exchange_strong(ticket, ticket + (k - i), std::memory_order_relaxed,
                                           std::memory_order_relaxed))
        continue;
      for (cell* c = &s->cells[i]; c != &s->cells[k]; ++c) {
        out[n++] = c->item;
        empty(c);
      }
    }
    return n;
  }

  /// Returns true if every item whose producer has claimed a cell before this call has been taken.
  bool idle() const {
    std::lock_guard guard(lock_);
    const segment* s = last_.load(std::memory_order_relaxed);
    if (first_.load(std::memory_order_relaxed) != s) return false;
    const auto head = static_cast<uint32_t>(s->head.load(std::memory_order_acquire));
    const auto tail = static_cast<uint32_t>(s->tail.load(std::memory_order_seq_cst));
    return (tail < N ? tail : N) == head;
  }

  /// Items whose producers have claimed a cell, and that have not been taken. Exact while no thread uses the queue. It
  /// loads with sequential consistency, as idle() does, so event_count::sleep() may call it.
  size_t size() const {
    std::lock_guard guard(lock_);
    size_t n = 0;
    for (const segment* s = first_.load(std::memory_order_relaxed); s != nullptr;
         s = s->next.load(std::memory_order_relaxed)) {
      const auto head = static_cast<uint32_t>(s->head.load(std::memory_order_acquire));
      const auto tail = static_cast<uint32_t>(s->tail.load(std::memory_order_seq_cst));
      const size_t taken = s == first_.load(std::memory_order_relaxed) ? head : 0;  // later ones are not current yet
      n += (tail < N ? tail : N) - (taken < N ? taken : N);
    }
    return n;
  }

  /// Segments owned, in use or retired. For tests.
  size_t segments() const {
    std::lock_guard guard(lock_);
    return n_segments_;
  }

 private:
  // `tail` and `head`: life << 32 | next ticket. No tickets are left at N and above.
  struct segment {
    alignas(cache_line) Atom<uint64_t> tail{N};
    alignas(cache_line) Atom<uint64_t> head{N};
    Atom<segment*> next{nullptr};  // changes under lock_; also links retired segments
    uint64_t life = 0;             // under lock_
    cell cells[N];
  };

  // Appends a segment when the last one has no tickets left. Returns when last_ has changed.
  LCI_COLD void grow() {
    std::lock_guard guard(lock_);
    segment* s = last_.load(std::memory_order_relaxed);
    if (static_cast<uint32_t>(s->tail.load(std::memory_order_relaxed)) < N) return;
    segment* n = take_retired();
    if (!n) {
      n = insist_on_memory([] { return new segment; });  // a signalled status must not be lost
      ++n_segments_;
    }
    ++n->life;
    // Make it reachable for consumers before opening it for producers.
    s->next.store(n, std::memory_order_release);              // R7: pairs with A7
    n->tail.store(n->life << 32, std::memory_order_release);  // R3: pairs with A3 in claim()
    last_.store(n, std::memory_order_release);                // R5: pairs with A5 in claim()
  }

  // Makes the next segment current if `s`, whose head was `seen`, has no tickets left. Returns false if the queue was
  // empty at some moment.
  LCI_COLD bool advance(segment* s, uint64_t seen) {
    // If no segment follows, an exhausted one is an empty queue, which is detected without the lock. That
    // `s` is first and its head is still `seen` after `next` was read proves that `next` was read
    // before the segment was retired.
    if (!s->next.load(std::memory_order_acquire) &&  // A7: pairs with R7 in grow()
        first_.load(std::memory_order_acquire) == s && s->head.load(std::memory_order_acquire) == seen)
      return false;
    std::lock_guard guard(lock_);
    s = first_.load(std::memory_order_relaxed);
    if (static_cast<uint32_t>(s->head.load(std::memory_order_relaxed)) < N) return true;
    segment* n = s->next.load(std::memory_order_relaxed);
    if (!n) return false;
    n->head.store(n->life << 32, std::memory_order_release);  // R4: pairs with A4 in take()
    first_.store(n, std::memory_order_release);               // R6: pairs with A6 in take()
    s->next.store(nullptr, std::memory_order_relaxed);
    retire(s);
    return true;
  }

  void retire(segment* s) {  // under lock_
    if (retired_) {
      retired_last_->next.store(s, std::memory_order_relaxed);
    } else {
      retired_ = s;
    }
    retired_last_ = s;
  }

  // One of the oldest retired segments that no consumer is still reading, or null. Segments still being read move
  // to the end, so that slow consumers do not prevent the reuse of others.
  segment* take_retired() {  // under lock_
    for (int tries = 0; retired_ && tries < 4; ++tries) {
      segment* s = retired_;
      retired_ = s->next.load(std::memory_order_relaxed);
      s->next.store(nullptr, std::memory_order_relaxed);
      uint32_t full = 0;
      for (size_t i = 0; i < N; i += 4)  // A2: pairs with R2 in pop()
        full |=
            s->cells[i].full.load(std::memory_order_acquire) | s->cells[i + 1].full.load(std::memory_order_acquire) |
            s->cells[i + 2].full.load(std::memory_order_acquire) | s->cells[i + 3].full.load(std::memory_order_acquire);
      if (!full) return s;
      retire(s);
    }
    return nullptr;
  }

  static void destroy(segment* s) {
    while (s) {
      segment* next = s->next.load(std::memory_order_relaxed);
      delete s;
      s = next;
    }
  }

  alignas(cache_line) Atom<segment*> last_{nullptr};
  alignas(cache_line) Atom<segment*> first_{nullptr};
  alignas(cache_line) mutable basic_spinlock<Atom> lock_;
  segment* retired_ = nullptr;       // under lock_
  segment* retired_last_ = nullptr;  // under lock_; meaningful if retired_ is not null
  size_t n_segments_ = 1;            // under lock_
};

}  // namespace lci
