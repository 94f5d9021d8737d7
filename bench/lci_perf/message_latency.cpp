// Ping-pong of messages that notify the target. The thread that waits for a message sends the answer, not the handler.
#include "bench/lci_perf/benchmark.hpp"

namespace lci_perf {
namespace {

template <op_kind Op>
struct ping_pong {
  template <comp_kind C>
  struct by {
    static void prepare(side&, const round_plan&) {}

    static void receive(side& s, const round_plan& plan, payload_kind payload) {
      inbox<C> box(s, plan, payload);
      for (uint64_t k = 0; k < plan.count; ++k) {
        box.wait_one();
        post_message<Op, C>(s, plan, k);
      }
      s.drain();
    }

    static void send(side& s, const round_plan& plan, payload_kind payload) {
      inbox<C> box(s, plan, payload);
      round_trips(s, plan.count, [&](uint64_t k) {
        post_message<Op, C>(s, plan, k);
        box.wait_one();
      });
      s.drain();
    }
  };
};

}  // namespace

benchmark message_latency(op_kind op, comp_kind comp) { return by_op_and_comp<ping_pong>(op, comp); }

}  // namespace lci_perf
