// Gather and scatter: the same trees, from the leaves to the root or from the root to the leaves.
#include <algorithm>

#include "generated/core_operations.hpp"
#include "lib/coll/algorithms.hpp"
#include "lib/coll/thresholds.hpp"

namespace lci::coll {
namespace {

/// This rank's position in a binomial tree. Ranks are numbered from the root; the subtree of this rank holds
/// the blocks of `width` consecutive numbers, of which its own is the first.
struct place {
  int v, bit, width;
  place(const plan& p, int root) : v((p.me() - root + p.n()) % p.n()), bit(1) {
    while (bit < p.n() && (v & bit) == 0) bit *= 2;
    width = std::min(bit, p.n() - v);
  }
};

/// Converts between blocks in the order of ranks and blocks numbered from the root.
void rotate(std::byte* to, const std::byte* from, size_t size, int n, size_t first_goes_to) {
  const size_t at = first_goes_to * size, total = static_cast<size_t>(n) * size;
  copy(to + at, from, total - at);
  copy(to, from + (total - at), at);
}

plan::node gather_tree(plan& p, const void* sendbuf, void* recvbuf, size_t size, int root) {
  const int n = p.n();
  const place at(p, root);
  if (at.width == 1 && at.v != 0) return p.send((p.me() - at.bit + n) % n, sendbuf, size, 0);
  std::byte* blocks = p.scratch(size * static_cast<size_t>(at.width));
  const auto all = p.then([=] { copy(blocks, sendbuf, size); });
  plan::node last = p.then([] {}, {all});
  for (int bit = at.bit / 2; bit > 0; bit /= 2) {
    if (bit >= at.width) continue;
    const int width = std::min(bit, at.width - bit);
    p.order(
        p.receive((p.me() + bit) % n, blocks + size * static_cast<size_t>(bit), size * static_cast<size_t>(width), 0),
        last);
  }
  if (at.v != 0) return p.send((p.me() - at.bit + n) % n, blocks, size * static_cast<size_t>(at.width), 0, {last});
  return p.then([=] { rotate(static_cast<std::byte*>(recvbuf), blocks, size, n, static_cast<size_t>(root)); }, {last});
}

void gather_direct(plan& p, const void* sendbuf, void* recvbuf, size_t size, int root) {
  if (p.me() != root) {
    p.send(root, sendbuf, size, 0);
    return;
  }
  auto* to = static_cast<std::byte*>(recvbuf);
  for (int i = 0; i < p.n(); ++i) {
    std::byte* block = to + size * static_cast<size_t>(i);
    if (i != root)
      p.receive(i, block, size, 0);
    else
      p.then([=] { copy(block, sendbuf, size); });
  }
}

void scatter_direct(plan& p, const void* sendbuf, void* recvbuf, size_t size, int root) {
  if (p.me() != root) {
    p.receive(root, recvbuf, size, 0);
    return;
  }
  const auto* from = static_cast<const std::byte*>(sendbuf);
  for (int i = 0; i < p.n(); ++i) {
    const std::byte* block = from + size * static_cast<size_t>(i);
    if (i != root)
      p.send(i, block, size, 0);
    else
      p.then([=] { copy(recvbuf, block, size); });
  }
}

/// The blocks of all ranks, and the address of this rank's block.
range blocks_at(const void* buffer, size_t size, const plan& p) {
  return range_of(buffer, size * static_cast<size_t>(p.n()));
}
const void* own_block(const void* buffer, size_t size, const plan& p) {
  return static_cast<const std::byte*>(buffer) + size * static_cast<size_t>(p.me());
}

gather_algorithm_t choose_gather(const char* operation, const plan& p, size_t size, gather_algorithm_t wanted) {
  switch (wanted) {
    case gather_algorithm_t::direct:
    case gather_algorithm_t::tree:
      return wanted;
    case gather_algorithm_t::none:
      return p.n() > thresholds::gather_direct_ranks && size <= thresholds::gather_tree_most
                 ? gather_algorithm_t::tree
                 : gather_algorithm_t::direct;
  }
  reject_algorithm(operation, static_cast<int>(wanted));
}

}  // namespace

plan::node scatter_tree(plan& p, const void* sendbuf, void* recvbuf, size_t size, int root, size_t step,
                        plan::node start) {
  const int n = p.n();
  const place at(p, root);
  const int parent = (p.me() - at.bit + n) % n;
  if (at.width == 1 && at.v != 0) return p.receive(parent, recvbuf, size, step, {start});
  const size_t bytes = size * static_cast<size_t>(at.width);
  std::byte* blocks = p.scratch(bytes);
  const auto have = at.v != 0 ? p.receive(parent, blocks, bytes, step, {start})
                              : p.then(
                                    [=] {
                                      rotate(blocks, static_cast<const std::byte*>(sendbuf), size, n,
                                             static_cast<size_t>((n - root) % n));
                                    },
                                    {start});
  const auto end = p.then([=] { copy(recvbuf, blocks, size); }, {have});
  for (int bit = at.bit / 2; bit > 0; bit /= 2) {
    if (bit >= at.width) continue;
    const int width = std::min(bit, at.width - bit);
    p.send((p.me() + bit) % n, blocks + size * static_cast<size_t>(bit), size * static_cast<size_t>(width), step,
           {have});
  }
  return end;
}

}  // namespace lci::coll

namespace lci::core {

void gather(gather_args& a) {
  coll::plan p("gather", coll::scope_of(a));
  coll::check_root("gather", p, a.root);
  coll::checked_bytes("gather", "size", a.size, 1, static_cast<size_t>(p.n()));
  coll::check_buffer("gather", "sendbuf", a.sendbuf, a.size);
  if (p.me() == a.root) {
    coll::check_buffer("gather", "recvbuf", a.recvbuf, a.size);
    coll::check_apart("gather", range_of(a.sendbuf, a.size), coll::blocks_at(a.recvbuf, a.size, p),
                      a.sendbuf == coll::own_block(a.recvbuf, a.size, p));
  }
  if (coll::choose_gather("gather", p, a.size, a.algorithm) == gather_algorithm_t::tree)
    coll::gather_tree(p, a.sendbuf, a.recvbuf, a.size, a.root);
  else
    coll::gather_direct(p, a.sendbuf, a.recvbuf, a.size, a.root);
  p.run();
}

void scatter(scatter_args& a) {
  coll::plan p("scatter", coll::scope_of(a));
  coll::check_root("scatter", p, a.root);
  coll::checked_bytes("scatter", "size", a.size, 1, static_cast<size_t>(p.n()));
  coll::check_buffer("scatter", "recvbuf", a.recvbuf, a.size);
  if (p.me() == a.root) {
    coll::check_buffer("scatter", "sendbuf", a.sendbuf, a.size);
    coll::check_apart("scatter", coll::blocks_at(a.sendbuf, a.size, p), range_of(a.recvbuf, a.size),
                      a.recvbuf == coll::own_block(a.sendbuf, a.size, p));
  }
  if (coll::choose_gather("scatter", p, a.size, a.algorithm) == gather_algorithm_t::tree)
    coll::scatter_tree(p, a.sendbuf, a.recvbuf, a.size, a.root, 0, {});
  else
    coll::scatter_direct(p, a.sendbuf, a.recvbuf, a.size, a.root);
  p.run();
}

}  // namespace lci::core
