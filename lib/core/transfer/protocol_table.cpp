#include "lib/core/transfer/protocol_table.hpp"

#include <algorithm>

#include "lib/core/wire/wire.hpp"

namespace lci::core {

protocol_estimates& protocol_table::of(peer& p, size_t size) {
  return p.of[class_of_size(size, smallest_bits, n_sizes)];
}

bool protocol_table::is_eager(const network::device& net, int rank, size_t size) {
  peer* const p = peers_.find_or_make(rank);
  if (p == nullptr) return size <= injected_;
  size_t possible = p->largest.load(std::memory_order_relaxed);
  if (LCI_UNLIKELY(possible == 0)) {
    const size_t injected = net.max_inject_to(rank);
    if (injected <= sizeof(wire::header) + std::max(injected_, first_ - 1)) return size <= injected_;
    possible = injected - sizeof(wire::header);
    p->largest.store(possible, std::memory_order_relaxed);
  }
  return size <= possible && of(*p, size).current() == protocol::eager;
}

void protocol_table::sent_eager(int rank, size_t size) {
  peer* const p = peers_.find(rank);
  if (p == nullptr) return;
  ended(*p, size, protocol::eager);
  (void)of(*p, size).choose(protocol::eager);
}

bool protocol_table::begins_rendezvous(int rank, size_t size) {
  peer* const p = peers_.find(rank);
  if (p == nullptr || size > p->largest.load(std::memory_order_relaxed)) return false;
  (void)of(*p, size).choose(protocol::eager);
  return true;
}

void protocol_table::rendezvous_ended(int rank, size_t size) { ended(*peers_.find(rank), size, protocol::rendezvous); }

float protocol_table::estimate(int rank, size_t size, protocol used) const {
  peer* const p = peers_.find(rank);
  return p == nullptr ? 0 : of(*p, size).estimate(used);
}

void protocol_table::ended(peer& p, size_t size, protocol used) const {
  const uint32_t now = clock_(), before = p.last_end.load(std::memory_order_relaxed);
  const protocol last = p.last.load(std::memory_order_relaxed);
  p.last_end.store(now, std::memory_order_relaxed);
  p.last.store(used, std::memory_order_relaxed);
  // Threads on other processors may have read a clock that is slightly ahead. Many rendezvous may end at the same time.
  if (used == last && static_cast<int32_t>(now - before) >= 0)
    of(p, size).took(used, ticks_per_kib(now - before, size));
}

}  // namespace lci::core
