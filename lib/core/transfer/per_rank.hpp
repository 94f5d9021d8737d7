// Objects of which there is one for each rank, allocated when they are first needed.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

#include "lib/base/cpu.hpp"

namespace lci::core {

/// One T for each rank of a job. Thread-safe, except for construction and destruction. The destructor frees the
/// objects.
template <class T>
class per_rank {
 public:
  explicit per_rank(int n_ranks)
      : each_(static_cast<std::atomic<T*>*>(std::calloc(static_cast<size_t>(n_ranks), sizeof(std::atomic<T*>)))),
        n_ranks_(n_ranks) {
    if (each_ == nullptr) throw std::bad_alloc();
  }
  ~per_rank() {
    for (int r = 0; r < n_ranks_; ++r) delete find(r);
  }
  per_rank(const per_rank&) = delete;
  per_rank& operator=(const per_rank&) = delete;

  /// Returns the object of this rank; null if it was not made yet, or for a peer outside of the job.
  T* find(int rank) const {
    return LCI_LIKELY(rank < n_ranks_) ? each_.get()[rank].load(std::memory_order_acquire) : nullptr;  // A1
  }
  /// The object of this rank, allocated by the first call. Null without memory, or for a peer outside of the job.
  T* find_or_make(int rank) {
    T* const found = find(rank);
    return LCI_LIKELY(found != nullptr) || rank >= n_ranks_ ? found : make(rank);
  }

 private:
  LCI_COLD T* make(int rank) {
    auto* const made = new (std::nothrow) T;
    T* expected = nullptr;
    // R1: pairs with A1. Another thread may have been first.
    if (made == nullptr ||
        each_.get()[rank].compare_exchange_strong(expected, made, std::memory_order_acq_rel, std::memory_order_acquire))
      return made;
    delete made;
    return expected;
  }

  struct free_memory {
    void operator()(std::atomic<T*>* p) const { std::free(p); }
  };

  const std::unique_ptr<std::atomic<T*>[], free_memory> each_;  // owned; an element is null until find_or_make()
  const int n_ranks_;
};

}  // namespace lci::core
