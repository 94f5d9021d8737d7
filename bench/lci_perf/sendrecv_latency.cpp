// Ping-pong of sends and receives. Every receive is posted before its message can be sent.
#include "bench/lci_perf/benchmark.hpp"

namespace lci_perf {
namespace {

lci::tag_t ping(const seat& s) { return static_cast<lci::tag_t>(2 * s.index); }
lci::tag_t pong(const seat& s) { return static_cast<lci::tag_t>(2 * s.index + 1); }

template <comp_kind C>
struct ping_pong {
  static void prepare(seat& s, const job& j) { post_one_recv<C>(s, j, 0, ping(s)); }

  static void receive(seat& s, const job& j, payload_kind payload) {
    inbox<C> box(s, j, payload);
    for (uint64_t k = 0; k < j.count; ++k) {
      box.wait_one();
      if (k + 1 < j.count) post_one_recv<C>(s, j, k + 1, ping(s));
      post_one_send(s, j, pong(s));
    }
    s.drain();
  }

  static void send(seat& s, const job& j, payload_kind payload) {
    inbox<C> box(s, j, payload);
    round_trips(s, j.count, [&](uint64_t k) {
      post_one_recv<C>(s, j, k, pong(s));
      post_one_send(s, j, ping(s));
      box.wait_one();
    });
    s.drain();
  }
};

}  // namespace

benchmark sendrecv_latency(comp_kind comp) { return by_comp<ping_pong>(comp); }

}  // namespace lci_perf
