// Streams in both directions of sends into preposted receives.
#include "bench/lci_perf/duplex.hpp"

namespace lci_perf {
namespace {

template <comp_kind C>
struct both_ways {
  static void prepare(side& s, const round_plan& plan) {
    for (uint64_t k = 0; k < plan.window && k < plan.count; ++k) receive_one(s, plan, k);
  }
  static void receive(side& s, const round_plan& plan, payload_kind payload) { run(s, plan, payload, true); }
  static void send(side& s, const round_plan& plan, payload_kind payload) {
    prepare(s, plan);
    run(s, plan, payload, false);
  }

 private:
  // With one rank, the tag distinguishes the two ends.
  static void receive_one(side& s, const round_plan& plan, uint64_t k) {
    post_one_recv<C>(s, plan, k, static_cast<lci::tag_t>(s.partner_seed));
  }

  static void run(side& s, const round_plan& plan, payload_kind payload, bool answers) {
    uint64_t posted = plan.window < plan.count ? plan.window : plan.count;
    duplex<C>(
        s, plan, payload, answers, [&](uint64_t) { post_one_send(s, plan, static_cast<lci::tag_t>(s.seed)); },
        [&](uint64_t n) {
          for (; n > 0 && posted < plan.count; --n) receive_one(s, plan, posted++);
        });
  }
};

}  // namespace

benchmark sendrecv_duplex(comp_kind comp) { return by_comp<both_ways>(comp); }

}  // namespace lci_perf
