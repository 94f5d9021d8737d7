#include <vector>

#include "generated/core_operations.hpp"
#include "lib/coll/algorithms.hpp"
#include "lib/coll/thresholds.hpp"

namespace lci::coll {
namespace {

// `r` is a block; sendbuf has one for each rank.
void reduce_scatter_direct(plan& p, const void* sendbuf, void* recvbuf, const reduction& r) {
  const size_t bytes = r.bytes();
  const auto* from = static_cast<const std::byte*>(sendbuf);
  std::byte* all = p.scratch(bytes * static_cast<size_t>(p.n()));
  const auto at = [=](int rank) { return bytes * static_cast<size_t>(rank); };
  const auto combined = p.then([=, n = p.n(), me = p.me()] {
    copy(all + at(me), from + at(me), bytes);
    copy(recvbuf, all, bytes);
    for (int i = 1; i < n; ++i) r.combine(recvbuf, all + at(i), recvbuf, r.count);
  });
  for (int i = 1; i < p.n(); ++i) {
    const int peer = (p.me() + i) % p.n();
    p.send(peer, from + at(peer), bytes, 0);
    p.order(p.receive(peer, all + at(peer), bytes, 0), combined);
  }
}

void reduce_scatter_tree(plan& p, const void* sendbuf, void* recvbuf, const reduction& r) {
  const size_t blocks = r.bytes() * static_cast<size_t>(p.n());
  std::byte* sum = p.me() == 0 ? p.scratch(blocks) : nullptr;
  const reduction whole{r.count * static_cast<size_t>(p.n()), r.item_size, r.op};
  const auto reduced = reduce_tree(p, sendbuf, sum, whole, 0, 0, {});
  scatter_tree(p, sum, recvbuf, r.bytes(), 0, steps_of_part, reduced);
}

// Blocks travel round the ring; each rank combines its own items with the block it receives. The last one to arrive
// is its own.
void reduce_scatter_ring(plan& p, const void* sendbuf, void* recvbuf, const reduction& r) {
  const auto n = static_cast<size_t>(p.n()), me = static_cast<size_t>(p.me());
  const int next = (p.me() + 1) % p.n(), before = (p.me() - 1 + p.n()) % p.n();
  const size_t bytes = r.bytes();
  const auto* from = static_cast<const std::byte*>(sendbuf);
  if (n == 1) {
    p.then([=] { copy(recvbuf, from, bytes); });
    return;
  }
  std::byte* moving[2] = {p.scratch(bytes), p.scratch(bytes)};  // one is received while the other is sent
  plan::node combined, sent[2];
  const void* out = from + (me + n - 1) % n * bytes;
  for (size_t s = 0; s + 1 < n; ++s) {
    const size_t in = (me + 2 * n - s - 2) % n;
    const bool last = s + 2 == n;
    std::byte* here = moving[s % 2];
    const auto left = p.send(next, out, bytes, s, {combined});
    const auto got = p.receive(before, here, bytes, s, {combined, sent[s % 2]});
    void* to = last ? recvbuf : here;
    combined = p.then([=, own = from + in * bytes] { r.combine(here, own, to, r.count); }, {got});
    sent[(s + 1) % 2] = left;
    out = here;
  }
}

reduce_scatter_algorithm_t choose_reduce_scatter(const plan& p, const reduction& r) {
  if (r.bytes() <= thresholds::reduce_scatter_tree_most && p.n() > thresholds::reduce_scatter_direct_ranks)
    return reduce_scatter_algorithm_t::tree;
  if (r.bytes() > thresholds::reduce_scatter_ring_above && p.n() > 2) return reduce_scatter_algorithm_t::ring;
  return reduce_scatter_algorithm_t::direct;
}

}  // namespace
}  // namespace lci::coll

namespace lci::core {

void reduce_scatter(reduce_scatter_args& a) {
  coll::plan p("reduce_scatter", coll::scope_of(a));
  coll::check_function("reduce_scatter", a.op);
  const size_t bytes =
      coll::checked_bytes("reduce_scatter", "recvcount", a.recvcount, a.item_size, static_cast<size_t>(p.n()));
  coll::check_buffer("reduce_scatter", "sendbuf", a.sendbuf, bytes);
  coll::check_buffer("reduce_scatter", "recvbuf", a.recvbuf, bytes);
  coll::check_apart("reduce_scatter", range_of(a.sendbuf, bytes * static_cast<size_t>(p.n())),
                    range_of(a.recvbuf, bytes));
  coll::checked_pieces("reduce_scatter", p, a.ring_nsteps);
  const coll::reduction r{a.recvcount, a.item_size, a.op};
  const bool automatic = a.algorithm == reduce_scatter_algorithm_t::none;
  switch (automatic ? coll::choose_reduce_scatter(p, r) : a.algorithm) {
    case reduce_scatter_algorithm_t::direct:
      coll::reduce_scatter_direct(p, a.sendbuf, a.recvbuf, r);
      break;
    case reduce_scatter_algorithm_t::tree:
      coll::reduce_scatter_tree(p, a.sendbuf, a.recvbuf, r);
      break;
    case reduce_scatter_algorithm_t::ring:
      coll::reduce_scatter_ring(p, a.sendbuf, a.recvbuf, r);
      break;
    default:
      coll::reject_algorithm("reduce_scatter", static_cast<int>(a.algorithm));
  }
  p.run();
}

}  // namespace lci::core
