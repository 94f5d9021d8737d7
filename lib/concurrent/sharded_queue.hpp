// An unbounded queue without contention between producers: each thread pushes to a shard that few others use.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

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
};

/// Thread-safe. Items of one thread come out in order, as do those of one shard. A consumer pops from its own shard
/// first, and regularly from another one, so that no item waits for ever. A shard is allocated by the first push
/// to it: a single thread has one queue. Owns its shards until destruction.
///
/// Memory orders. R1/A1 publish a shard's construction. Parking needs (parking.hpp) that a thread which calls
/// idle(), after it has counted itself as a sleeper, sees each claim that precedes it in the single order of
/// the sequentially consistent operations. A claim is made in a shard that its producer has found in
/// `shards_`, so the store that put it there (R1), sequentially consistent, precedes the claim, and
/// idle()'s load, sequentially consistent too, sees it.
template <class T, template <class> class Atom = std::atomic, size_t N = 128, unsigned Shards = 8,
          class Choose = shard_by_thread>
class sharded_queue {
 public:
  using queue = segmented_queue<T, Atom, N>;

  sharded_queue() = default;
  ~sharded_queue() {
    for (auto& s : shards_) delete s.own.load(std::memory_order_relaxed);
  }
  sharded_queue(const sharded_queue&) = delete;
  sharded_queue& operator=(const sharded_queue&) = delete;

  /// `claimed()`: see segmented_queue.
  template <class F>
  void push(const T& item, F&& claimed) {
    shard& s = shards_[Choose{}() % Shards];
    queue* q = s.own.load(std::memory_order_acquire);  // A1
    if (LCI_UNLIKELY(q == nullptr)) q = make(s);
    q->push(item, claimed);
  }
  void push(const T& item) {
    push(item, [] {});
  }

  /// False if the queue is empty, or if the oldest item of each shard is still being written.
  bool pop(T& out) {
    cell* c = take();
    if (c == nullptr) return false;
    out = c->item;
    queue::empty(c);
    return true;
  }
  /// Like pop(), but returns the item, or `none` in place of false. Saves a caller that returns the item an
  /// initialisation and a copy.
  T pop_or(const T& none) {
    cell* c = take();
    if (c == nullptr) return none;
    struct emptier {
      cell* c;
      ~emptier() { queue::empty(c); }  // after the copy
    } const after{c};
    return c->item;
  }

  /// Takes at most `max` items in the order of repeated calls of pop(), and returns their number.
  size_t pop_many(T* out, size_t max) {
    const unsigned own = Choose{}() % Shards;
    shard& mine = shards_[own];
    const uint32_t turn = mine.turns.load(std::memory_order_relaxed);
    // Items that may come from the own shard before another one is tried.
    const size_t of_own = turns_of_own - 1 - turn % turns_of_own;
    size_t n = pop_many_from(own, out, max < of_own ? max : of_own);
    if (n < max) {
      constexpr unsigned others = Shards - 1;
      const uint32_t first = mine.asked.load(std::memory_order_relaxed);
      mine.asked.store(first + 1, std::memory_order_relaxed);
      for (unsigned i = 0; n < max && i < others; ++i)
        n += pop_many_from(own + 1 + (first + i) % others, out + n, max - n);
      if (n < max) n += pop_many_from(own, out + n, max - n);
    }
    mine.turns.store(turn + (n == 0 ? 1 : static_cast<uint32_t>(n)), std::memory_order_relaxed);
    return n;
  }

  /// True if every item whose producer has claimed a cell before this call has been taken.
  bool idle() const {
    for (const shard& s : shards_) {
      const queue* q = s.own.load(std::memory_order_seq_cst);  // A1
      if (q != nullptr && !q->idle()) return false;
    }
    return true;
  }

 private:
  struct alignas(cache_line) shard {
    Atom<queue*> own{nullptr};  // owned
    Atom<uint32_t> turns{0};    // pops of consumers whose own shard this is; lost updates do no harm
    Atom<uint32_t> asked{0};    // how often their pop_many() has tried other shards; lost updates do no harm
  };
  // An item of another shard costs as much as ten of the own one: its cache lines come from another core.
  static constexpr uint32_t turns_of_own = 64;

  using cell = typename queue::cell;

  cell* take() {
    const unsigned own = Choose{}() % Shards;
    shard& mine = shards_[own];
    const uint32_t turn = mine.turns.load(std::memory_order_relaxed) + 1;
    mine.turns.store(turn, std::memory_order_relaxed);
    // Regularly try others first: a thread that fills its own shard as fast as it empties it would never
    // pop from another one.
    if (LCI_UNLIKELY(turn % turns_of_own == 0)) return take_from(own + turn / turns_of_own);
    queue* q = mine.own.load(std::memory_order_acquire);  // A1
    cell* c = LCI_LIKELY(q != nullptr) ? q->take() : nullptr;
    return LCI_LIKELY(c != nullptr) ? c : take_from(own + 1);
  }

  /// The oldest item of the first non-empty shard, starting at `first`; null if all are empty.
  LCI_NOINLINE cell* take_from(unsigned first) {
    for (unsigned i = 0; i < Shards; ++i) {
      queue* q = shards_[(first + i) % Shards].own.load(std::memory_order_acquire);  // A1
      if (q == nullptr) continue;
      if (cell* c = q->take()) return c;
    }
    return nullptr;
  }

  size_t pop_many_from(unsigned index, T* out, size_t max) {
    queue* q = shards_[index % Shards].own.load(std::memory_order_acquire);  // A1
    return q == nullptr ? 0 : q->pop_many(out, max);
  }

  LCI_COLD queue* make(shard& s) {
    std::lock_guard guard(lock_);
    queue* q = s.own.load(std::memory_order_relaxed);
    if (q != nullptr) return q;
    q = insist_on_memory([] { return new queue; });
    s.own.store(q, std::memory_order_seq_cst);  // R1
    return q;
  }

  shard shards_[Shards];
  basic_spinlock<Atom> lock_;
};

}  // namespace lci
