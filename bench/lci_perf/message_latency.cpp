// Ping-pong of messages that notify the target. Answers are sent from the waiting loop, not from the handler.
#include "bench/lci_perf/benchmark.hpp"

namespace lci_perf {
namespace {

template <op_kind Op>
struct ping_pong {
  template <comp_kind C>
  struct by {
    static void prepare(seat&, const job&) {}

    static void receive(seat& s, const job& j, payload_kind payload) {
      inbox<C> box(s, j, payload);
      for (uint64_t k = 0; k < j.count; ++k) {
        box.wait_one();
        post_message<Op, C>(s, j, k);
      }
      s.drain();
    }

    static void send(seat& s, const job& j, payload_kind payload) {
      inbox<C> box(s, j, payload);
      round_trips(s, j.count, [&](uint64_t k) {
        post_message<Op, C>(s, j, k);
        box.wait_one();
      });
      s.drain();
    }
  };
};

}  // namespace

benchmark message_latency(op_kind op, comp_kind comp) {
  return by_op_and_comp<ping_pong>(op, comp);
}

}  // namespace lci_perf
