// A table of how often each k-mer occurs, to which all threads of a rank write.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "batch.hpp"
#include "kmer.hpp"

namespace kmer_count {

/// Each thread owns a part, a hash table that only it writes to: if threads incremented shared counts, each cache line
/// would move between their caches. So each thread gathers k-mers for every other thread and hands them over in groups.
/// K-mers are in random order, so nearly every look-up misses the cache: the memory of a whole group is prefetched.
class kmer_table {
 public:
  explicit kmer_table(size_t threads) : count_(threads), parts_(new part[threads]) {}

  /// Reserves room for `kmers` different k-mers. This and the following members: not while others use the table.
  void reserve(uint64_t kmers);
  /// Counts what was handed over since the owning threads last looked.
  void finish();
  size_t size() const;
  size_t bytes() const;
  /// Calls `f(k-mer, times)` for each k-mer.
  template <class F>
  void for_each(F f) const {
    for (size_t i = 0; i < count_; ++i)
      for (const auto& [key, times] : parts_[i].counts) f(key, times);
  }

  /// A thread's access to the table. Thread-bound; must exist until finish() has counted what it has handed over.
  class writer {
   public:
    writer(kmer_table& table, size_t thread)
        : table_(table), thread_(thread), gathered_(static_cast<int>(table.count_), group) {}

    /// `hash`: hash_of(m). The k-mer is counted when its group is full and the owner looks, or after flush() and
    /// finish().
    void add(const kmer& m, uint64_t hash) {
      const size_t to = table_.part_of(hash);
      if (batch* full = gathered_.add(static_cast<int>(to), m)) hand_over(to, full);
    }
    void flush();
    /// Returns whether other threads have handed over k-mers to this one.
    bool has_more() const { return table_.parts_[thread_].inbox.load(std::memory_order_relaxed) != nullptr; }
    /// Counts those k-mers.
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
      // Some bits of the hash have selected the rank, others the thread: a product depends on all bits.
      const uint64_t h = hash_of(m) * 0x9e3779b97f4a7c15u;
      return h ^ h >> 32;
    }
  };
  using map = absl::flat_hash_map<kmer, uint64_t, hasher>;
  struct alignas(64) part {
    map counts;                                      // written by its thread only
    alignas(64) std::atomic<batch*> inbox{nullptr};  // the whole list is taken at once: no ABA problem
  };

  size_t part_of(uint64_t hash) const { return (hash >> 32) * count_ >> 32; }
  static void count(map& counts, batch* b);
  void look(size_t thread);

  const size_t count_;
  std::unique_ptr<part[]> parts_;
};

}  // namespace kmer_count
