#include <bit>
#include <vector>

#include "generated/core_operations.hpp"
#include "lib/coll/algorithms.hpp"
#include "lib/coll/thresholds.hpp"

namespace lci::coll {
namespace {

void allreduce_direct(plan& p, const void* sendbuf, void* recvbuf, const reduction& r) {
  const size_t bytes = r.bytes();
  std::byte* all = p.scratch(bytes * static_cast<size_t>(p.n()));
  std::byte* mine = all + bytes * static_cast<size_t>(p.me());
  const auto copied = p.then([=] { copy(mine, sendbuf, bytes); });
  const auto combined = p.then(
      [=, n = static_cast<size_t>(p.n())] {
        copy(recvbuf, all, bytes);
        for (size_t i = 1; i < n; ++i) r.combine(recvbuf, all + bytes * i, recvbuf, r.count);
      },
      {copied});
  for (int i = 1; i < p.n(); ++i) {
    const int peer = (p.me() + i) % p.n();
    p.send(peer, mine, bytes, 0, {copied});
    p.order(p.receive(peer, all + bytes * static_cast<size_t>(peer), bytes, 0), combined);
  }
}

// Recursive doubling: in each round two halves of a group exchange their partial results.
void allreduce_doubling(plan& p, const void* sendbuf, void* recvbuf, const reduction& r) {
  const size_t bytes = r.bytes();
  auto last = p.then([=] { copy(recvbuf, sendbuf, bytes); });
  size_t round = 0;
  for (int bit = 1; bit < p.n(); bit *= 2, ++round) {
    const int peer = p.me() ^ bit;
    std::byte* other = p.scratch(bytes);
    const auto sent = p.send(peer, recvbuf, bytes, round, {last});
    const auto got = p.receive(peer, other, bytes, round);
    last = p.then(
        [=, before = peer < p.me()] {
          r.combine(before ? other : recvbuf, before ? recvbuf : other, recvbuf, r.count);
        },
        {sent, got});
  }
}

void allreduce_tree(plan& p, const void* sendbuf, void* recvbuf, const reduction& r) {
  if (std::has_single_bit(static_cast<unsigned>(p.n()))) return allreduce_doubling(p, sendbuf, recvbuf, r);
  const auto reduced = reduce_tree(p, sendbuf, recvbuf, r, 0, 0, {});
  broadcast_tree(p, recvbuf, r.bytes(), 0, steps_of_part, reduced);
}

// The array is divided into one part per rank. The parts first travel round the ring, and each rank combines its own
// items with the part it receives; then the finished parts travel round.
void allreduce_ring(plan& p, const void* sendbuf, void* recvbuf, const reduction& r) {
  const auto n = static_cast<size_t>(p.n()), me = static_cast<size_t>(p.me());
  const int next = (p.me() + 1) % p.n(), before = (p.me() - 1 + p.n()) % p.n();
  auto* items = static_cast<std::byte*>(recvbuf);
  const auto part = [&](size_t back) { return (me + 2 * n - back) % n; };  // `back` < 2n
  const auto at = [&](size_t i) { return items + piece_begin(r.count, i, n) * r.item_size; };
  const auto count = [&](size_t i) { return piece_begin(r.count, i + 1, n) - piece_begin(r.count, i, n); };
  const size_t total = r.bytes();
  auto last = p.then([=] { copy(recvbuf, sendbuf, total); });
  std::byte* other = p.scratch((r.count / n + 1) * r.item_size);
  std::vector<plan::node> sent(n);  // by part
  for (size_t s = 0; s + 1 < n; ++s) {
    const size_t out = part(s), in = part(s + 1);
    sent[out] = p.send(next, at(out), count(out) * r.item_size, s, {last});
    const auto got = p.receive(before, other, count(in) * r.item_size, s, {last});
    last = p.then([=, to = at(in), c = count(in)] { r.combine(other, to, to, c); }, {got});
  }
  for (size_t s = 0; s + 1 < n; ++s) {
    const size_t step = n - 1 + s, out = part(step), in = part(s);
    p.send(next, at(out), count(out) * r.item_size, step, {last});
    // The receive overwrites a part that must have been sent.
    last = p.receive(before, at(in), count(in) * r.item_size, step, {last, sent[in]});
  }
}

allreduce_algorithm_t choose_allreduce(const plan& p, const reduction& r) {
  if (r.bytes() <= thresholds::allreduce_direct_most && p.n() <= thresholds::allreduce_direct_ranks)
    return allreduce_algorithm_t::direct;
  if (r.bytes() > thresholds::allreduce_ring_above && p.n() > 2 && r.count >= static_cast<size_t>(p.n()))
    return allreduce_algorithm_t::ring;
  return allreduce_algorithm_t::tree;
}

}  // namespace
}  // namespace lci::coll

namespace lci::core {

void allreduce(allreduce_args& a) {
  coll::plan p("allreduce", coll::scope_of(a));
  coll::check_function("allreduce", a.op);
  const size_t bytes = coll::checked_bytes("allreduce", "count", a.count, a.item_size, static_cast<size_t>(p.n()));
  coll::check_buffer("allreduce", "sendbuf", a.sendbuf, bytes);
  coll::check_buffer("allreduce", "recvbuf", a.recvbuf, bytes);
  coll::check_apart("allreduce", range_of(a.sendbuf, bytes), range_of(a.recvbuf, bytes), a.sendbuf == a.recvbuf);
  coll::checked_pieces("allreduce", p, a.ring_nsteps);
  const coll::reduction r{a.count, a.item_size, a.op};
  const bool automatic = a.algorithm == allreduce_algorithm_t::none;
  switch (automatic ? coll::choose_allreduce(p, r) : a.algorithm) {
    case allreduce_algorithm_t::direct:
      coll::allreduce_direct(p, a.sendbuf, a.recvbuf, r);
      break;
    case allreduce_algorithm_t::tree:
      coll::allreduce_tree(p, a.sendbuf, a.recvbuf, r);
      break;
    case allreduce_algorithm_t::ring:
      coll::allreduce_ring(p, a.sendbuf, a.recvbuf, r);
      break;
    default:
      coll::reject_algorithm("allreduce", static_cast<int>(a.algorithm));
  }
  p.run();
}

}  // namespace lci::core
