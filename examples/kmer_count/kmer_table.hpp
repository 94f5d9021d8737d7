// How often each k-mer occurs: a table that all threads of a rank write to.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "batch.hpp"
#include "kmer.hpp"

namespace kmer_count {

/// Each thread has a part of its own, a hash table that only it writes to: counts that two threads increment in turns
/// would travel between their caches, one by one. So a thread gathers k-mers for each other thread, and hands over
/// groups of them. K-mers come in any order, so that nearly each look-up waits for memory: that of a group is asked
/// for at once.
class kmer_table {
 public:
  explicit kmer_table(size_t threads) : count_(threads), parts_(new part[threads]) {}

  /// Room for so many different k-mers. Not while others use the table, as what follows.
  void reserve(uint64_t kmers);
  /// Counts what has been handed over since its thread has looked last.
  void finish();
  size_t size() const;
  size_t bytes() const;
  /// Calls `f(k-mer, times)` for each.
  template <class F>
  void for_each(F f) const {
    for (size_t i = 0; i < count_; ++i)
      for (const auto& [key, times] : parts_[i].counts) f(key, times);
  }

  /// A thread's way into the table. Thread-bound; must outlive what it has handed over: finish().
  class writer {
   public:
    writer(kmer_table& table, size_t thread)
        : table_(table), thread_(thread), gathered_(static_cast<int>(table.count_), group) {}

    /// `hash`: hash_of() it. Counted when its group is full and its thread looks, or after flush() and finish().
    void add(const kmer& m, uint64_t hash) {
      const size_t to = table_.part_of(hash);
      if (batch* full = gathered_.add(static_cast<int>(to), m)) hand_over(to, full);
    }
    void flush();
    /// Whether others have handed over something.
    bool has_more() const { return table_.parts_[thread_].inbox.load(std::memory_order_relaxed) != nullptr; }
    /// Counts that.
    void look() { table_.look(thread_); }

   private:
    static constexpr size_t group = 64;

    void hand_over(size_t to, batch* b);

    kmer_table& table_;
    const size_t thread_;
    aggregator gathered_;
  };

 private:
  struct hasher {
    size_t operator()(const kmer& m) const {
      // Some bits of the hash have chosen the owner, others its thread: a product depends on all.
      const uint64_t h = hash_of(m) * 0x9e3779b97f4a7c15u;
      return h ^ h >> 32;
    }
  };
  using map = absl::flat_hash_map<kmer, uint64_t, hasher>;
  struct alignas(64) part {
    map counts;                                       // its thread's
    alignas(64) std::atomic<batch*> inbox{nullptr};  // only ever taken as a whole: no ABA
  };

  size_t part_of(uint64_t hash) const { return (hash >> 32) * count_ >> 32; }
  static void count(map& counts, batch* b);
  void look(size_t thread);

  const size_t count_;
  std::unique_ptr<part[]> parts_;
};

}  // namespace kmer_count
