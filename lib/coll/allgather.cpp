#include "generated/core_operations.hpp"
#include "lib/coll/plan.hpp"
#include "lib/coll/thresholds.hpp"

namespace lci::coll {
namespace {

void allgather_direct(plan& p, const void* sendbuf, std::byte* blocks, size_t size) {
  for (int i = 1; i < p.n(); ++i) {
    const int peer = (p.me() + i) % p.n();
    p.send(peer, sendbuf, size, 0);
    p.receive(peer, blocks + size * static_cast<size_t>(peer), size, 0);
  }
}

void allgather_ring(plan& p, const void* sendbuf, std::byte* blocks, size_t size) {
  const int n = p.n(), next = (p.me() + 1) % n, before = (p.me() - 1 + n) % n;
  const void* out = sendbuf;
  plan::node have;
  for (int s = 0; s + 1 < n; ++s) {
    p.send(next, out, size, static_cast<size_t>(s), {have});
    std::byte* in = blocks + size * static_cast<size_t>((p.me() - s - 1 + n) % n);
    have = p.receive(before, in, size, static_cast<size_t>(s));
    out = in;
  }
}

allgather_algorithm_t choose_allgather(const plan& p, size_t size) {
  return size > thresholds::allgather_ring_above && p.n() > 2 ? allgather_algorithm_t::ring
                                                              : allgather_algorithm_t::direct;
}

}  // namespace
}  // namespace lci::coll

namespace lci::core {

void allgather(allgather_args& a) {
  coll::plan p("allgather", coll::scope_of(a));
  coll::checked_bytes("allgather", "size", a.size, 1, static_cast<size_t>(p.n()));
  coll::check_buffer("allgather", "sendbuf", a.sendbuf, a.size);
  coll::check_buffer("allgather", "recvbuf", a.recvbuf, a.size);
  auto* blocks = static_cast<std::byte*>(a.recvbuf);
  std::byte* mine = blocks + a.size * static_cast<size_t>(p.me());
  coll::check_apart("allgather", range_of(a.sendbuf, a.size), range_of(a.recvbuf, a.size * static_cast<size_t>(p.n())),
                    a.sendbuf == mine);
  p.then([=, from = a.sendbuf, size = a.size] { coll::copy(mine, from, size); });
  const bool automatic = a.algorithm == allgather_algorithm_t::none;
  switch (automatic ? coll::choose_allgather(p, a.size) : a.algorithm) {
    case allgather_algorithm_t::direct:
      coll::allgather_direct(p, a.sendbuf, blocks, a.size);
      break;
    case allgather_algorithm_t::ring:
      coll::allgather_ring(p, a.sendbuf, blocks, a.size);
      break;
    default:
      coll::reject_algorithm("allgather", static_cast<int>(a.algorithm));
  }
  p.run();
}

}  // namespace lci::core
