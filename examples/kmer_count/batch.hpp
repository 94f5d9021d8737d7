// Batches of k-mers for other ranks, and their aggregation.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "kmer.hpp"

namespace kmer_count {

class batch_pool;

/// K-mers for one rank. Owned by the thread of its pool, except while it is being sent.
struct batch {
  batch_pool* pool = nullptr;
  batch* next = nullptr;
  size_t size = 0;  // k-mers in it
  std::unique_ptr<kmer[]> kmers;

  const char* bytes() const { return reinterpret_cast<const char*>(kmers.get()); }
  size_t byte_size() const { return size * sizeof(kmer); }
};

/// The batches of one thread. take() is for that thread only, give_back() for any thread: whichever thread completes
/// the send returns the batch.
class batch_pool {
 public:
  explicit batch_pool(size_t capacity) : capacity_(capacity) {}

  batch* take() {
    if (free_ == nullptr) {
      free_ = returned_.exchange(nullptr, std::memory_order_acquire);  // B1: pairs with B2
    }
    if (free_ == nullptr) {
      all_.push_back(std::make_unique<batch>());
      all_.back()->pool = this;
      all_.back()->kmers.reset(new kmer[capacity_]);
      return all_.back().get();
    }
    batch* b = free_;
    free_ = b->next;
    b->size = 0;
    return b;
  }

  void give_back(batch* b) {
    b->next = returned_.load(std::memory_order_relaxed);
    while (!returned_.compare_exchange_weak(b->next, b, std::memory_order_release,  // B2: with B1
                                            std::memory_order_relaxed)) {
    }
  }

 private:
  const size_t capacity_;
  std::vector<std::unique_ptr<batch>> all_;
  batch* free_ = nullptr;
  alignas(64) std::atomic<batch*> returned_{nullptr};  // the whole list is taken at once: no ABA problem
};

/// One open batch per rank, created when the first k-mer for that rank comes. Thread-bound.
class aggregator {
 public:
  aggregator(int nranks, size_t capacity)
      : capacity_(capacity), pool_(capacity), open_(static_cast<size_t>(nranks), nullptr) {}

  /// Adds a k-mer. If that fills the batch, returns it and transfers its ownership to the caller.
  batch* add(int rank, const kmer& m) {
    batch*& b = open_[static_cast<size_t>(rank)];
    if (b == nullptr) b = pool_.take();
    b->kmers[b->size++] = m;
    if (b->size < capacity_) return nullptr;
    return close(rank);
  }

  /// Returns the open batch of a rank, or nullptr.
  batch* close(int rank) {
    batch* b = open_[static_cast<size_t>(rank)];
    open_[static_cast<size_t>(rank)] = nullptr;
    return b;
  }

 private:
  const size_t capacity_;
  batch_pool pool_;
  std::vector<batch*> open_;
};

}  // namespace kmer_count
