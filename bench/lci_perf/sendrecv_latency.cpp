// Ping-pong of sends and receives. Every receive is posted before its message can be sent.
#include "bench/lci_perf/benchmark.hpp"

namespace lci_perf {
namespace {

lci::tag_t ping(const side& s) { return static_cast<lci::tag_t>(2 * s.index); }
lci::tag_t pong(const side& s) { return static_cast<lci::tag_t>(2 * s.index + 1); }

template <comp_kind C>
struct ping_pong {
  static void prepare(side& s, const round_plan& plan) { post_one_recv<C>(s, plan, 0, ping(s)); }

  static void receive(side& s, const round_plan& plan, payload_kind payload) {
    inbox<C> box(s, plan, payload);
    for (uint64_t k = 0; k < plan.count; ++k) {
      box.wait_one();
      if (k + 1 < plan.count) post_one_recv<C>(s, plan, k + 1, ping(s));
      post_one_send(s, plan, pong(s));
    }
    s.drain();
  }

  static void send(side& s, const round_plan& plan, payload_kind payload) {
    inbox<C> box(s, plan, payload);
    round_trips(s, plan.count, [&](uint64_t k) {
      post_one_recv<C>(s, plan, k, pong(s));
      post_one_send(s, plan, ping(s));
      box.wait_one();
    });
    s.drain();
  }
};

}  // namespace

benchmark sendrecv_latency(comp_kind comp) { return by_comp<ping_pong>(comp); }

}  // namespace lci_perf
