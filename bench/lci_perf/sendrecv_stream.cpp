// One-way stream of sends into preposted receives: each receive is reposted before its message is acknowledged. All
// messages share one buffer on either side.
#include "bench/lci_perf/benchmark.hpp"

namespace lci_perf {
namespace {

lci::tag_t tag_of(const side& s) { return static_cast<lci::tag_t>(2 * s.index); }

template <comp_kind C>
struct one_way {
  static void prepare(side& s, const round_plan& plan) {
    for (uint64_t k = 0; k < plan.window && k < plan.count; ++k) post_one_recv<C>(s, plan, k, tag_of(s));
  }

  static void receive(side& s, const round_plan& plan, payload_kind payload) {
    uint64_t posted = plan.window < plan.count ? plan.window : plan.count;
    take_stream<C>(s, plan, payload, [&](uint64_t n) {
      for (; n > 0 && posted < plan.count; --n) post_one_recv<C>(s, plan, posted++, tag_of(s));
    });
  }

  static void send(side& s, const round_plan& plan, payload_kind) {
    const lci::tag_t tag = tag_of(s);
    stream(s, plan, [&](uint64_t) { post_one_send(s, plan, tag); });
  }
};

}  // namespace

benchmark sendrecv_stream(comp_kind comp) { return by_comp<one_way>(comp); }

}  // namespace lci_perf
