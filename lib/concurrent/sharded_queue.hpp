// An unbounded queue without contention between producers: each thread pushes to a shard that few others use.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "lib/base/cores.hpp"
#include "lib/base/cpu.hpp"
#include "lib/base/memory.hpp"
#include "lib/base/thread_index.hpp"
#include "lib/concurrent/segmented_queue.hpp"
#include "lib/concurrent/spinlock.hpp"

namespace lci {

namespace detail {
// constinit: without it each access would check whether the variable has been initialised.
inline constinit thread_local bool tls_in_order __attribute__((tls_model("initial-exec"))) = false;
}  // namespace detail

/// A scope in which the thread pushes to shard 0 of sharded queues, so that its items are ordered with those
/// that other threads push in such a scope.
class pushes_in_order {
 public:
  pushes_in_order() : before_(detail::tls_in_order) { detail::tls_in_order = true; }
  ~pushes_in_order() { detail::tls_in_order = before_; }
  pushes_in_order(const pushes_in_order&) = delete;
  pushes_in_order& operator=(const pushes_in_order&) = delete;

 private:
  const bool before_;
};

/// The shard that a thread pushes to, and pops from first.
struct shard_by_thread {
  unsigned operator()() const { return LCI_UNLIKELY(detail::tls_in_order) ? 0 : static_cast<unsigned>(thread_index()); }
  /// The shard, without a call of another function; negative in a thread that has no index yet.
  int if_known() const { return LCI_UNLIKELY(detail::tls_in_order) ? 0 : thread_index_if_known(); }
};

/// Thread-safe. Items of one thread come out in order, as do those of one shard. A consumer pops from its own shard
/// first. It looks at all others when that is empty. While it is not, the consumer looks regularly at one of those
/// whose own consumers have stopped, so that no item waits for ever. It leaves the others alone, as it would take
/// cache lines from their consumers. A shard is allocated by the first push to it: a single thread has one queue. Owns
/// its shards until destruction. `Shards`: their number; 0: as many as the usable cores suggest.
///
/// Memory orders. R1/A1 publish a shard's construction. Parking needs (parking.hpp) that a thread which calls
/// idle(), after it has counted itself as a sleeper, sees each claim that precedes it in the single order of
/// the sequentially consistent operations. A producer finds its queue in its shard, where make() puts it after the
/// sequentially consistent store (R1) to `queues_`. So that store precedes the claim, and idle()'s load, sequentially
/// consistent too, sees it. What consumers remember is relaxed: it decides which shard they look at, and an old value
/// only makes them look too early or too late.
template <class T, template <class> class Atom = std::atomic, size_t N = 128, unsigned Shards = 0,
          class Choose = shard_by_thread>
class sharded_queue {
 public:
  using queue = segmented_queue<T, Atom, N>;
  using cell = typename queue::cell;

  sharded_queue()
      : mask_((Shards != 0 ? Shards : usual_number()) - 1),
        shards_(new shard[mask_ + 1]),
        queues_(new Atom<queue*>[mask_ + 1]) {
    for (unsigned i = 0; i <= mask_; ++i) queues_[i].store(nullptr, std::memory_order_relaxed);
  }
  ~sharded_queue() {
    for (unsigned i = 0; i <= mask_; ++i) delete queues_[i].load(std::memory_order_relaxed);
  }
  sharded_queue(const sharded_queue&) = delete;
  sharded_queue& operator=(const sharded_queue&) = delete;

  // The most common case of push() and take(), without calls of other functions: a caller that goes on to push() or
  // take() by a call at its end if these return null saves no registers.
  /// A cell of the thread's shard, which the caller must fill at once.
  cell* claim_directly() {
    const int known = Choose{}.if_known();
    if (LCI_UNLIKELY(known < 0)) return nullptr;
    queue* q = shards_[nth(static_cast<unsigned>(known))].own.load(std::memory_order_acquire);  // A1
    return LCI_LIKELY(q != nullptr) ? q->claim() : nullptr;
  }
  static void fill(cell* c, const T& item) { queue::fill(c, item); }
  /// The oldest item of the thread's shard, which the caller must empty; null also when others' turn has come.
  cell* take_directly() {
    const int known = Choose{}.if_known();
    if (LCI_UNLIKELY(known < 0)) return nullptr;
    shard& mine = shards_[nth(static_cast<unsigned>(known))];
    const uint32_t turn = mine.turns.load(std::memory_order_relaxed) + 1;
    if (LCI_UNLIKELY(turn % turns_of_own == 0)) return nullptr;
    queue* q = mine.own.load(std::memory_order_acquire);  // A1
    cell* c = LCI_LIKELY(q != nullptr) ? q->try_take() : nullptr;
    if (LCI_LIKELY(c != nullptr)) mine.turns.store(turn, std::memory_order_relaxed);
    return c;
  }

  /// `claimed()`: see segmented_queue.
  template <class F>
  void push(const T& item, F&& claimed) {
    const unsigned own = nth(Choose{}());
    queue* q = shards_[own].own.load(std::memory_order_acquire);  // A1
    if (LCI_UNLIKELY(q == nullptr)) q = make(own);
    q->push(item, claimed);
  }
  void push(const T& item) {
    push(item, [] {});
  }

  /// The cell of the oldest item of a shard, which the caller must empty; null if the queue is empty, or if the oldest
  /// item of each shard is still being written.
  cell* take() {
    const unsigned own = nth(Choose{}());
    shard& mine = shards_[own];
    const uint32_t turn = mine.turns.load(std::memory_order_relaxed) + 1;
    mine.turns.store(turn, std::memory_order_relaxed);
    // Regularly try others first: a thread that fills its own shard as fast as it empties it would never
    // pop from another one.
    if (LCI_UNLIKELY(turn % turns_of_own == 0))
      if (cell* c = take_regularly(mine, own)) return c;
    queue* q = mine.own.load(std::memory_order_acquire);  // A1
    cell* c = LCI_LIKELY(q != nullptr) ? q->take() : nullptr;
    return LCI_LIKELY(c != nullptr) ? c : take_from_any(own);
  }

  /// Returns false where take() returns null.
  bool pop(T& out) {
    cell* c = take();
    if (c == nullptr) return false;
    out = c->item;
    queue::empty(c);
    return true;
  }
  /// Copies the item of a cell that was taken, and empties the cell. Saves a caller that returns the item an
  /// initialisation and a copy.
  static T item_of(cell* c) {
    struct emptier {
      cell* c;
      ~emptier() { queue::empty(c); }  // after the copy
    } const after{c};
    return c->item;
  }

  /// Takes at most `max` items, as repeated calls of pop() would, and returns their number.
  size_t pop_many(T* out, size_t max) {
    const unsigned own = nth(Choose{}());
    shard& mine = shards_[own];
    const uint32_t turn = mine.turns.load(std::memory_order_relaxed);
    const size_t of_own = turns_of_own - 1 - turn % turns_of_own;  // before the next look at another shard
    size_t n = pop_many_from(own, out, max < of_own ? max : of_own);
    if (n == of_own && n < max) {
      const int other = shard_to_look_at(mine, own);
      if (other >= 0) n += pop_many_from(static_cast<unsigned>(other), out + n, max - n);
      n += pop_many_from(own, out + n, max - n);
    }
    if (n < max) {
      const uint32_t first = mine.asked.load(std::memory_order_relaxed);
      mine.asked.store(first + 1, std::memory_order_relaxed);
      for (unsigned i = 0; n < max && i <= mask_; ++i) n += pop_many_from(nth(own + first + i), out + n, max - n);
    }
    mine.turns.store(turn + (n == 0 ? 1 : static_cast<uint32_t>(n)), std::memory_order_relaxed);
    return n;
  }

  /// Returns true if every item whose producer has claimed a cell before this call has been taken.
  bool idle() const {
    for (unsigned i = 0; i <= mask_; ++i) {
      const queue* q = queues_[i].load(std::memory_order_seq_cst);  // A1
      if (q != nullptr && !q->idle()) return false;
    }
    return true;
  }

 private:
  struct alignas(cache_line) shard {
    Atom<queue*> own{nullptr};  // as in `queues_`
    // Written only by consumers whose own shard it is, who lose updates without harm.
    Atom<uint32_t> turns{0};       // pops. Other consumers see from it whether these still pop
    Atom<uint32_t> asked{0};       // how often their pop_many() has tried other shards
    Atom<uint32_t> looked_at{0};   // how far behind this shard the one is that they look at regularly; 0: none yet
    Atom<uint32_t> turns_seen{0};  // of that one's consumers
    Atom<uint32_t> looks{0};       // at it
  };
  // An item of another shard costs as much as ten of the own one: its cache lines come from another core.
  static constexpr uint32_t turns_of_own = 64;
  // A shard whose consumers have popped nothing during so many of these looks, some ten microseconds or more, is looked
  // into at as many further ones.
  static constexpr uint32_t most_looks = 8;
  // Two for each core: threads beyond the cores, which may share a shard, are those that wait.
  static constexpr unsigned fewest_shards = 8, most_shards = 64;
  static unsigned usual_number() {
    unsigned n = fewest_shards;
    while (n < most_shards && n < 2 * usable_cores()) n *= 2;
    return n;
  }

  unsigned nth(unsigned i) const {
    if constexpr (Shards != 0)
      return i % Shards;
    else
      return i & mask_;
  }

  cell* take_one_from(unsigned index) {
    queue* q = queues_[index].load(std::memory_order_acquire);  // A1
    return q != nullptr ? q->take() : nullptr;
  }

  /// The oldest item of the first non-empty shard behind this one; null if all are empty.
  LCI_NOINLINE cell* take_from_any(unsigned own) {
    for (unsigned i = 1; i <= mask_ + 1; ++i)
      if (cell* c = take_one_from(nth(own + i))) return c;
    return nullptr;
  }

  LCI_NOINLINE cell* take_regularly(shard& mine, unsigned own) {
    const int other = shard_to_look_at(mine, own);
    return other < 0 ? nullptr : take_one_from(static_cast<unsigned>(other));
  }

  /// The shard that a consumer looks at besides its own in this turn; negative: none.
  int shard_to_look_at(shard& mine, unsigned own) {
    if (LCI_LIKELY(n_made_.load(std::memory_order_relaxed) < 2)) return -1;
    const uint32_t at = mine.looked_at.load(std::memory_order_relaxed);
    const unsigned index = nth(own + at);
    const uint32_t turns = shards_[index].turns.load(std::memory_order_relaxed);
    const uint32_t looks = mine.looks.load(std::memory_order_relaxed) + 1;
    const bool idle = looks == 1 || turns == mine.turns_seen.load(std::memory_order_relaxed);
    const bool due = turns == 0 || (idle && looks > most_looks);
    mine.looks.store(looks, std::memory_order_relaxed);
    mine.turns_seen.store(turns, std::memory_order_relaxed);
    if (at == 0 || turns == 0 || !idle || looks == 2 * most_looks) look_at_next(mine, own);
    return at != 0 && due ? static_cast<int>(index) : -1;
  }

  void look_at_next(shard& mine, unsigned own) {
    uint32_t at = mine.looked_at.load(std::memory_order_relaxed);
    unsigned index = own;
    for (unsigned i = 0; i < mask_; ++i) {
      if (++at > mask_) at = 1;
      index = nth(own + at);
      if (queues_[index].load(std::memory_order_relaxed) != nullptr) break;
    }
    mine.looked_at.store(at, std::memory_order_relaxed);
    mine.turns_seen.store(shards_[index].turns.load(std::memory_order_relaxed), std::memory_order_relaxed);
    mine.looks.store(1, std::memory_order_relaxed);
  }

  size_t pop_many_from(unsigned index, T* out, size_t max) {
    queue* q = queues_[index].load(std::memory_order_acquire);  // A1
    return q == nullptr ? 0 : q->pop_many(out, max);
  }

  LCI_COLD queue* make(unsigned index) {
    std::lock_guard guard(lock_);
    queue* q = queues_[index].load(std::memory_order_relaxed);
    if (q != nullptr) return q;
    q = insist_on_memory([] { return new queue; });
    queues_[index].store(q, std::memory_order_seq_cst);      // R1
    shards_[index].own.store(q, std::memory_order_release);  // R1: after that in `queues_`
    n_made_.store(n_made_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    return q;
  }

  const unsigned mask_;  // of a shard's number; the number of shards - 1
  const std::unique_ptr<shard[]> shards_;
  const std::unique_ptr<Atom<queue*>[]> queues_;  // owned; apart from `shards_`, which their consumers write to
  Atom<uint32_t> n_made_{0};                      // queues; written under lock_
  basic_spinlock<Atom> lock_;
};

}  // namespace lci
