// One-way stream of sends into receives that are always posted beforehand: a receive is posted
// again before its message is acknowledged. All share one buffer at either side.
#include "bench/lci_perf/benchmark.hpp"

namespace lci_perf {
namespace {

lci::tag_t tag_of(const seat& s) { return static_cast<lci::tag_t>(2 * s.index); }

template <comp_kind C>
void prepare(seat& s, const job& j) {
  for (uint64_t k = 0; k < j.window && k < j.count; ++k) post_one_recv<C>(s, j, k, tag_of(s));
}

template <comp_kind C>
void receive(seat& s, const job& j, payload_kind payload) {
  inbox<C> box(s, j, payload);
  uint64_t posted = j.window < j.count ? j.window : j.count;
  uint64_t taken = 0, acked = 0;
  while (taken < j.count) {
    s.progress();
    for (uint64_t n = box.take(false); n > 0; --n) {
      ++taken;
      if (posted < j.count) post_one_recv<C>(s, j, posted++, tag_of(s));
    }
    if (taken - acked >= j.batch) {
      const uint64_t n = (taken - acked) / j.batch * j.batch;
      post_ack(s, n);
      acked += n;
    }
  }
  s.drain();
}

template <comp_kind C>
void send(seat& s, const job& j, payload_kind) {
  const lci::tag_t tag = tag_of(s);
  stream(s, j, [&](uint64_t) { post_one_send(s, j, tag); });
}

}  // namespace

benchmark sendrecv_stream(comp_kind comp) {
  return LCI_PERF_FOR_COMP(comp, prepare, receive, send);
}

}  // namespace lci_perf
