#include <algorithm>

#include "generated/core_operations.hpp"
#include "lib/coll/algorithms.hpp"
#include "lib/coll/thresholds.hpp"

namespace lci::coll {

plan::node broadcast_tree(plan& p, void* buffer, size_t size, int root, size_t step, plan::node start) {
  // Ranks are numbered from the root; a rank's parent is its number with the lowest set bit cleared.
  const int n = p.n(), v = (p.me() - root + n) % n;
  int bit = 1;
  plan::node have = start;
  while (bit < n && (v & bit) == 0) bit *= 2;
  if (v != 0) have = p.receive((p.me() - bit + n) % n, buffer, size, step, {start});
  const auto end = p.then([] {}, {have});
  for (bit /= 2; bit > 0; bit /= 2)
    if (v + bit < n) p.order(p.send((p.me() + bit) % n, buffer, size, step, {have}), end);
  return end;
}

namespace {

void broadcast_direct(plan& p, void* buffer, size_t size, int root) {
  if (p.me() != root) {
    p.receive(root, buffer, size, 0);
    return;
  }
  for (int i = 1; i < p.n(); ++i) p.send((root + i) % p.n(), buffer, size, 0);
}

// Pipelined: each piece travels from rank to rank, followed by the next ones.
void broadcast_ring(plan& p, void* buffer, size_t size, int root, size_t pieces) {
  const int n = p.n(), v = (p.me() - root + n) % n;
  const int next = (p.me() + 1) % n, before = (p.me() - 1 + n) % n;
  auto* bytes = static_cast<std::byte*>(buffer);
  pieces = std::min(pieces, plan::n_steps);
  for (size_t i = 0; i < pieces; ++i) {
    std::byte* at = bytes + piece_begin(size, i, pieces);
    const size_t length = piece_begin(size, i + 1, pieces) - piece_begin(size, i, pieces);
    plan::node have;
    if (v != 0) have = p.receive(before, at, length, i);
    if (v != n - 1) p.send(next, at, length, i, {have});
  }
}

broadcast_algorithm_t choose_broadcast(const plan& p, size_t size) {
  if (size > thresholds::broadcast_ring_above && p.n() > 2) return broadcast_algorithm_t::ring;
  return p.n() <= thresholds::broadcast_direct_ranks ? broadcast_algorithm_t::direct : broadcast_algorithm_t::tree;
}

}  // namespace
}  // namespace lci::coll

namespace lci::core {

void broadcast(broadcast_args& a) {
  coll::plan p("broadcast", coll::scope_of(a));
  coll::check_root("broadcast", p, a.root);
  coll::checked_bytes("broadcast", "size", a.size, 1);
  coll::check_buffer("broadcast", "buffer", a.buffer, a.size);
  const size_t pieces = coll::checked_pieces("broadcast", p, a.ring_nsteps);
  const bool automatic = a.algorithm == broadcast_algorithm_t::none;
  switch (automatic ? coll::choose_broadcast(p, a.size) : a.algorithm) {
    case broadcast_algorithm_t::direct:
      coll::broadcast_direct(p, a.buffer, a.size, a.root);
      break;
    case broadcast_algorithm_t::tree:
      coll::broadcast_tree(p, a.buffer, a.size, a.root, 0, {});
      break;
    case broadcast_algorithm_t::ring:
      coll::broadcast_ring(p, a.buffer, a.size, a.root, pieces);
      break;
    default:
      coll::reject_algorithm("broadcast", static_cast<int>(a.algorithm));
  }
  p.run();
}

}  // namespace lci::core
