// One-way streams: one thread of a pair posts messages that notify the other one, which acknowledges them once per
// quarter of a window.
#include "bench/lci_perf/benchmark.hpp"

namespace lci_perf {
namespace {

template <op_kind Op>
struct one_way {
  template <comp_kind C>
  struct by {
    static void prepare(side&, const round_plan&) {}

    static void receive(side& s, const round_plan& plan, payload_kind payload) {
      take_stream<C>(s, plan, payload, [](uint64_t) {});
    }

    static void send(side& s, const round_plan& plan, payload_kind) {
      stream(s, plan, [&](uint64_t k) { post_message<Op, C>(s, plan, k); });
    }
  };
};

}  // namespace

benchmark message_stream(op_kind op, comp_kind comp) { return by_op_and_comp<one_way>(op, comp); }

}  // namespace lci_perf
