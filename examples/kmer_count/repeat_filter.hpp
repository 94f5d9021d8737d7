// The two-layer Bloom filter that finds k-mers that occur more than once.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

#include "kmer.hpp"

namespace kmer_count {

/// Stores hashes that were inserted (first layer) and those inserted again (second layer). There are no false
/// negatives; a new hash may be taken for a repeated one. All bits of a hash are in one word, so that one atomic
/// operation decides which of two threads with the same k-mer was the first. With bits in several words both threads
/// could be the first, and the k-mer would be lost. The words of both layers are in one cache line. Thread-safe.
class repeat_filter {
 public:
  /// `bits`: bits per layer and expected hash.
  repeat_filter(uint64_t expected, double bits) {
    const double words = static_cast<double>(expected) * bits / 64;
    size_ = std::max<size_t>(static_cast<size_t>(words), 1024);
    void* p = mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    madvise(p, bytes(), MADV_HUGEPAGE);  // accesses are random: fewer TLB misses
    cells_ = static_cast<cell*>(p);      // zero pages are empty cells
  }
  ~repeat_filter() { munmap(cells_, bytes()); }
  repeat_filter(const repeat_filter&) = delete;
  repeat_filter& operator=(const repeat_filter&) = delete;

  size_t bytes() const { return size_ * sizeof(cell); }

  void prefetch(uint64_t hash) const { __builtin_prefetch(&cells_[place(hash)], 1); }

  /// Returns true if the hash is now found to be repeated for the first time. Relaxed order suffices: the result
  /// depends on the modification order of one word only, and the second traversal starts after messages that all
  /// insertions happen before.
  bool insert(uint64_t hash) {
    cell& c = cells_[place(hash)];
    const uint64_t bits = mask(hash);
    if (!add(c.seen, bits)) return false;
    return !add(c.repeated, bits);
  }

  /// Returns false if the hash was inserted at most once.
  bool is_repeated(uint64_t hash) const {
    const uint64_t bits = mask(hash);
    return (cells_[place(hash)].repeated.load(std::memory_order_relaxed) & bits) == bits;
  }

 private:
  struct cell {
    std::atomic<uint64_t> seen;
    std::atomic<uint64_t> repeated;
  };
  static_assert(sizeof(cell) == 16 && std::atomic<uint64_t>::is_always_lock_free,
                "zero pages must be empty cells, and a cell must not cross a cache line");

  // Returns whether all bits were set before.
  static bool add(std::atomic<uint64_t>& word, uint64_t bits) {
    if ((word.load(std::memory_order_relaxed) & bits) == bits) return true;
    return (word.fetch_or(bits, std::memory_order_relaxed) & bits) == bits;
  }

  // The product depends on all bits of the hash, including those that select the owner.
  size_t place(uint64_t hash) const { return static_cast<size_t>(uint128{hash * 0x9e3779b97f4a7c15u} * size_ >> 64); }

  static uint64_t mask(uint64_t hash) {
    const uint64_t h = (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9u;
    return uint64_t{1} << (h >> 58) | uint64_t{1} << (h >> 52 & 63) | uint64_t{1} << (h >> 46 & 63) |
           uint64_t{1} << (h >> 40 & 63);
  }

  size_t size_ = 0;
  cell* cells_ = nullptr;
};

}  // namespace kmer_count
