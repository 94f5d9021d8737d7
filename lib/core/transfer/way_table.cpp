#include "lib/core/transfer/way_table.hpp"

#include <algorithm>
#include <new>

#include "lib/base/ticks.hpp"

namespace lci::core {

namespace {

/// Units of 16 ticks. The difference of two is right up to some 20 seconds, and takes half the space in an operation.
uint32_t short_ticks() { return static_cast<uint32_t>(cpu_ticks() >> 4); }

int bits_for(size_t size) {
  int bits = 0;
  for (; size != 0; size >>= 1) ++bits;
  return bits;
}

}  // namespace

way_table::~way_table() {
  for (int r = 0; r < n_ranks_; ++r) delete at(r);
}

way_table::peer* way_table::make(int rank) {
  auto* const made = new (std::nothrow) peer;
  peer* expected = nullptr;
  // R1: pairs with A1. Another thread may have been first.
  if (made == nullptr ||
      peers_.get()[rank].compare_exchange_strong(expected, made, std::memory_order_acq_rel, std::memory_order_acquire))
    return made;
  delete made;
  return expected;
}

way_estimates& way_table::of(peer& p, bool allocated, bool alone, size_t size) {
  return p.of[allocated][alone][std::clamp(bits_for(size - 1) - smallest_bits, 0, n_sizes - 1)];
}

way way_table::choose(operation* op, bool alone, way usual, way_set possible) {
  peer* p = at(op->status.rank);
  if (LCI_UNLIKELY(p == nullptr) && (p = make(op->status.rank)) == nullptr) return usual;
  op->timed = true;
  op->alone = alone;
  op->began = short_ticks();
  return of(*p, op->allocated, alone, op->total).choose(usual, possible);
}

void way_table::ended(const operation* op, way used) {
  peer* const p = at(op->status.rank);
  const uint32_t now = short_ticks(), last = p->last_end.load(std::memory_order_relaxed);
  const way last_way = p->last_way.load(std::memory_order_relaxed);
  p->last_end.store(now, std::memory_order_relaxed);
  p->last_way.store(used, std::memory_order_relaxed);
  if (!op->alone && used != last_way) return;
  // In a stream, the time between two ends counts all that a message costs, also what comes between two reads.
  const uint32_t took = op->alone ? std::min(now - op->began, now - last) : now - last;
  // Threads on other processors may have read a clock that is slightly ahead.
  if (static_cast<int32_t>(took) <= 0) return;
  const float ticks = static_cast<float>(took) * 16.0F * 1024.0F / static_cast<float>(op->total);
  of(*p, op->allocated, op->alone, op->total).took(used, ticks);
}

void way_table::ended_untimed(int rank, way used) {
  if (rank >= n_ranks_) return;  // a peer outside of the job
  peer* const p = at(rank);
  if (p == nullptr) return;
  p->last_end.store(short_ticks(), std::memory_order_relaxed);
  p->last_way.store(used, std::memory_order_relaxed);
}

float way_table::estimate(int rank, bool allocated, bool alone, size_t size, way w) const {
  peer* const p = at(rank);
  return p == nullptr ? 0 : of(*p, allocated, alone, size).estimate(w);
}

}  // namespace lci::core
