#include "generated/core_operations.hpp"
#include "lib/coll/plan.hpp"
#include "lib/core/device/barrier_rounds.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/device/kept_exceptions.hpp"

namespace lci::coll {
namespace {

/// Dissemination: after round k a rank knows that 2^(k+1) ranks, itself and those before it, have entered.
/// Calls `exchange(to, from, round)` for each round.
template <class F>
void each_round(int me, int n, F exchange) {
  size_t round = 0;
  for (int distance = 1; distance < n; distance *= 2, ++round)
    exchange((me + distance) % n, (me - distance + n) % n, round);
}

/// Uses neither a graph nor matching: both cost more than the messages.
void barrier_at_once(const scope& s) {
  require_no_handler("barrier");
  core::device& d = *s.device.p_impl;
  const int me = d.rt.rank(), n = d.rt.size();
  const uint64_t number = core::begin_barrier(d);
  const char nothing = 0;
  core::kept_exceptions kept(d);
  each_round(me, n, [&](int to, int, size_t round) {
    // Retried without memory: the barrier has begun, and other ranks wait for this message.
    insist_on_memory<resource_error>([&] {
      post_am_x(to, &nothing, 0, COMP_NULL, core::wire::barrier_round)
          .tag(round)
          .runtime(s.runtime)
          .device(s.device)
          .endpoint(s.endpoint)();
    });
    core::await_barrier(d, round, number, kept);
    core::await_sent(d, to, kept);
  });
}

void barrier_in_parts(plan& p) {
  plan::node before;
  each_round(p.me(), p.n(), [&](int to, int from, size_t round) {
    p.send(to, nullptr, 0, round, {before});
    const auto arrived = p.receive(from, nullptr, 0, round);
    // The next round begins when the messages of this one and all before have arrived.
    before = round == 0 ? arrived : p.then([] {}, {before, arrived});
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
