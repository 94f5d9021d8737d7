// An unbounded queue whose producers don't meet: each thread pushes to a shard that few others use.
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
// constinit: without it each access would ask whether the variable has been initialised.
inline constinit thread_local bool tls_in_order __attribute__((tls_model("initial-exec"))) = false;
}  // namespace detail

/// While one lives, all that its thread pushes to sharded queues is in order with what other threads push
/// under one, before or after it.
class pushes_in_order {
 public:
  pushes_in_order() : before_(detail::tls_in_order) { detail::tls_in_order = true; }
  ~pushes_in_order() { detail::tls_in_order = before_; }
  pushes_in_order(const pushes_in_order&) = delete;
  pushes_in_order& operator=(const pushes_in_order&) = delete;

 private:
  const bool before_;
};

/// Which shard a thread pushes to, and looks at first.
struct shard_by_thread {
  unsigned operator()() const {
    return LCI_UNLIKELY(detail::tls_in_order) ? 0 : static_cast<unsigned>(thread_index());
  }
};

/// Thread-safe. Items of one thread come out in their order, as do those of one shard; of different shards
/// the consumer takes its own first, and another now and then, so that none waits for ever. A shard is made
/// when the first thread pushes to it: one thread alone has one queue.
///
/// Memory orders. R1/A1 publish a shard's construction. Parking needs (parking.hpp) that whoever asks
/// idle(), after it has counted itself as a sleeper, sees each claim that came before in the single order of
/// the sequentially consistent operations. A claim is made in a shard that its producer has found in
/// `shards_`, so the store that put it there (R1), sequentially consistent, comes before the claim, and
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

  /// False if there is nothing, or if the oldest items are still being written.
  bool pop(T& out) {
    cell* c = take();
    if (c == nullptr) return false;
    out = c->item;
    queue::empty(c);
    return true;
  }
  /// The same as a value: `none` if there is nothing. It spares a caller that returns the item an
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

  /// Takes items, at most `max`, as many calls of pop() would, and returns how many.
  size_t pop_many(T* out, size_t max) {
    const unsigned own = Choose{}() % Shards;
    shard& mine = shards_[own];
    const uint32_t turn = mine.turns.load(std::memory_order_relaxed);
    // Items that may come from the own shard before it is the others' turn.
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

  /// True if every item that a producer has claimed a place for before now has been taken.
  bool idle() const {
    for (const shard& s : shards_) {
      const queue* q = s.own.load(std::memory_order_seq_cst);  // A1
      if (q != nullptr && !q->idle()) return false;
    }
    return true;
  }

 private:
  struct alignas(cache_line) shard {
    Atom<queue*> own{nullptr};   // owned
    Atom<uint32_t> turns{0};     // of consumers that look here first; lost counts do no harm
    Atom<uint32_t> asked{0};     // how often pop_many() of theirs has gone to other shards; likewise
  };
  // Taking from another's shard costs as much as ten items of the own one: its lines come from another core.
  static constexpr uint32_t turns_of_own = 64;

  using cell = typename queue::cell;

  cell* take() {
    const unsigned own = Choose{}() % Shards;
    shard& mine = shards_[own];
    const uint32_t turn = mine.turns.load(std::memory_order_relaxed) + 1;
    mine.turns.store(turn, std::memory_order_relaxed);
    // Others first, now and then: a thread that fills its own shard as fast as it empties it would never
    // come to theirs.
    if (LCI_UNLIKELY(turn % turns_of_own == 0)) return take_from(own + turn / turns_of_own);
    queue* q = mine.own.load(std::memory_order_acquire);  // A1
    cell* c = LCI_LIKELY(q != nullptr) ? q->take() : nullptr;
    return LCI_LIKELY(c != nullptr) ? c : take_from(own + 1);
  }

  /// From the first shard that has one, beginning at `first`.
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
