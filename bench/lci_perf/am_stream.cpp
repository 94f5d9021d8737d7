// One-way stream of active messages, acknowledged a quarter of a window at a time.
#include "bench/lci_perf/benchmark.hpp"

namespace lci_perf {
namespace {

template <comp_kind C>
void prepare(seat&, const job&) {}

template <comp_kind C>
void receive(seat& s, const job& j, payload_kind payload) {
  inbox<C> box(s, j, payload);
  uint64_t taken = 0, acked = 0;
  while (taken < j.count) {
    s.progress();
    taken += box.take(true);
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
  stream(s, j, [&](uint64_t k) { post_one_am<C>(s, j, k); });
}

}  // namespace

benchmark am_stream(comp_kind comp) { return LCI_PERF_FOR_COMP(comp, prepare, receive, send); }

}  // namespace lci_perf
