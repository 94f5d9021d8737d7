#include "generated/core_operations.hpp"
#include "lib/coll/algorithms.hpp"

namespace lci::coll {

// The tree's root is always rank 0, so that items are combined in the order of ranks for any `root`.
plan::node reduce_tree(plan& p, const void* sendbuf, void* recvbuf, const reduction& r, int root, size_t step,
                       plan::node start) {
  const int n = p.n(), me = p.me();
  const size_t bytes = r.bytes();
  const size_t to_root = step + 1;
  const bool combines = me % 2 == 0 && me + 1 < n;  // other ranks only send their own items
  void* sum = me == 0 && root == 0 ? recvbuf : combines ? p.scratch(bytes) : nullptr;

  plan::node last = start;
  if (sum != nullptr) last = p.then([=] { copy(sum, sendbuf, bytes); }, {start});
  for (int bit = 1; bit < n; bit *= 2) {
    if ((me & bit) != 0) {
      last = p.send(me - bit, sum != nullptr ? sum : sendbuf, bytes, step, {last});
      break;
    }
    if (me + bit >= n) continue;
    std::byte* other = p.scratch(bytes);
    const auto got = p.receive(me + bit, other, bytes, step);
    last = p.then([=] { r.combine(sum, other, sum, r.count); }, {last, got});
  }
  if (root == 0) return last;
  if (me == 0) last = p.send(root, sum, bytes, to_root, {last});
  if (me == root) last = p.receive(0, recvbuf, bytes, to_root, {last});
  return last;
}

}  // namespace lci::coll

namespace lci::core {

void reduce(reduce_args& a) {
  coll::plan p("reduce", coll::scope_of(a));
  coll::check_root("reduce", p, a.root);
  coll::check_function("reduce", a.op);
  const size_t bytes = coll::checked_bytes("reduce", "count", a.count, a.item_size);
  coll::check_buffer("reduce", "sendbuf", a.sendbuf, bytes);
  if (p.me() == a.root) coll::check_buffer("reduce", "recvbuf", a.recvbuf, bytes);
  if (p.me() == a.root)
    coll::check_apart("reduce", range_of(a.sendbuf, bytes), range_of(a.recvbuf, bytes), a.sendbuf == a.recvbuf);
  coll::reduce_tree(p, a.sendbuf, a.recvbuf, {a.count, a.item_size, a.op}, a.root, 0, {});
  p.run();
}

}  // namespace lci::core
