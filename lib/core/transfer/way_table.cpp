#include "lib/core/transfer/way_table.hpp"

#include <algorithm>

#include "lib/base/ticks.hpp"

namespace lci::core {

way_estimates& way_table::of(peer& p, bool allocated, bool alone, size_t size) {
  return p.of[allocated][alone][class_of_size(size, smallest_bits, n_sizes)];
}

way way_table::choose(operation* op, bool alone, way usual, way_set possible) {
  peer* const p = peers_.find_or_make(op->status.rank);
  if (LCI_UNLIKELY(p == nullptr)) return usual;
  op->timed = true;
  op->alone = alone;
  op->began = short_ticks();
  return of(*p, op->allocated, alone, op->total).choose(usual, possible);
}

void way_table::ended(const operation* op, way used) {
  peer* const p = peers_.find(op->status.rank);
  const uint32_t now = short_ticks(), last = p->last_end.load(std::memory_order_relaxed);
  const way last_way = p->last_way.load(std::memory_order_relaxed);
  p->last_end.store(now, std::memory_order_relaxed);
  p->last_way.store(used, std::memory_order_relaxed);
  if (!op->alone && used != last_way) return;
  // In a stream, the time between two ends counts all that a message costs, also what comes between two reads.
  const uint32_t took = op->alone ? std::min(now - op->began, now - last) : now - last;
  // Threads on other processors may have read a clock that is slightly ahead.
  if (static_cast<int32_t>(took) <= 0) return;
  of(*p, op->allocated, op->alone, op->total).took(used, ticks_per_kib(took, op->total));
}

void way_table::ended_untimed(int rank, way used) {
  peer* const p = peers_.find(rank);
  if (p == nullptr) return;
  p->last_end.store(short_ticks(), std::memory_order_relaxed);
  p->last_way.store(used, std::memory_order_relaxed);
}

}  // namespace lci::core
