// One-way stream of sends into preposted receives: each receive is reposted before its message is acknowledged. All
// messages share one buffer on either side.
#include "bench/lci_perf/benchmark.hpp"

namespace lci_perf {
namespace {

lci::tag_t tag_of(const seat& s) { return static_cast<lci::tag_t>(2 * s.index); }

template <comp_kind C>
struct one_way {
  static void prepare(seat& s, const job& j) {
    for (uint64_t k = 0; k < j.window && k < j.count; ++k) post_one_recv<C>(s, j, k, tag_of(s));
  }

  static void receive(seat& s, const job& j, payload_kind payload) {
    uint64_t posted = j.window < j.count ? j.window : j.count;
    take_stream<C>(s, j, payload, [&](uint64_t n) {
      for (; n > 0 && posted < j.count; --n) post_one_recv<C>(s, j, posted++, tag_of(s));
    });
  }

  static void send(seat& s, const job& j, payload_kind) {
    const lci::tag_t tag = tag_of(s);
    stream(s, j, [&](uint64_t) { post_one_send(s, j, tag); });
  }
};

}  // namespace

benchmark sendrecv_stream(comp_kind comp) { return by_comp<one_way>(comp); }

}  // namespace lci_perf
