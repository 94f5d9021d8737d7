// Streams in both directions of messages that notify the target.
#include "bench/lci_perf/duplex.hpp"

namespace lci_perf {
namespace {

template <op_kind Op>
struct both_ways {
  template <comp_kind C>
  struct by {
    static void prepare(side&, const round_plan&) {}
    static void receive(side& s, const round_plan& plan, payload_kind payload) { run(s, plan, payload, true); }
    static void send(side& s, const round_plan& plan, payload_kind payload) { run(s, plan, payload, false); }

   private:
    static void run(side& s, const round_plan& plan, payload_kind payload, bool answers) {
      duplex<C>(
          s, plan, payload, answers, [&](uint64_t k) { post_message<Op, C>(s, plan, k); }, [](uint64_t) {});
    }
  };
};

}  // namespace

benchmark message_duplex(op_kind op, comp_kind comp) { return by_op_and_comp<both_ways>(op, comp); }

}  // namespace lci_perf
