#include "generated/core_operations.hpp"
#include "lib/coll/plan.hpp"

namespace lci::coll {
namespace {

/// Dissemination: after round k a rank knows of 2^(k+1) ranks, itself and those before it.
/// `exchange(to, from, round)`.
template <class F>
void each_round(int me, int n, F exchange) {
  size_t round = 0;
  for (int distance = 1; distance < n; distance *= 2, ++round)
    exchange((me + distance) % n, (me - distance + n) % n, round);
}

/// Without a graph, which costs more than the messages.
void barrier_at_once(const scope& s) {
  const int me = get_rank_me_x().runtime(s.runtime)(), n = get_rank_n_x().runtime(s.runtime)();
  const tag_t tag = next_tag(s.device);
  each_round(me, n, [&](int to, int from, size_t round) {
    within(s, post_send_x(to, nullptr, 0, tag | round, COMP_NULL))();
    within(s, post_recv_x(from, nullptr, 0, tag | round, COMP_NULL))();
  });
}

void barrier_in_parts(plan& p) {
  plan::node before;
  each_round(p.me(), p.n(), [&](int to, int from, size_t round) {
    p.send(to, nullptr, 0, round, {before});
    const auto heard = p.receive(from, nullptr, 0, round);
    // The next round begins when this one and all before it have been heard.
    before = round == 0 ? heard : p.then([] {}, {before, heard});
  });
  p.run();
}

}  // namespace
}  // namespace lci::coll

namespace lci::core {

void barrier(barrier_args& a) {
  if (a.comp.is_empty()) return coll::barrier_at_once(coll::scope_of(a));
  coll::plan p("barrier", coll::scope_of(a));
  coll::barrier_in_parts(p);
}

}  // namespace lci::core
