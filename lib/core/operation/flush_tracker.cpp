#include "lib/core/operation/flush_tracker.hpp"

#include <cstdlib>
#include <new>

namespace lci::core {

flush_tracker::flush_tracker(int n_ranks)
    // calloc(): counts of ranks that are never used take up no physical memory.
    : counts_(static_cast<std::atomic<int64_t>*>(
          std::calloc(2 * static_cast<size_t>(n_ranks), sizeof(std::atomic<int64_t>)))) {
  if (counts_ == nullptr) throw std::bad_alloc();
}

void flush_tracker::release::operator()(void* p) const { std::free(p); }

bool flush_tracker::flushed(int rank, uint64_t generation) {
  const int parity = static_cast<int>(generation & 1);
  uint64_t now = generation_.load(std::memory_order_relaxed);
  if (now == generation) {
    if (none(0, rank) && none(1, rank)) return true;
    if (!none(1 - parity, -1)) return false;
    // If this fails, another thread has begun the next generation.
    generation_.compare_exchange_strong(now, generation + 1, std::memory_order_relaxed);
    now = generation_.load(std::memory_order_relaxed);
  }
  return now > generation + 1 || none(parity, rank);
}

}  // namespace lci::core
