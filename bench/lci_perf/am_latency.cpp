// Ping-pong of active messages. Answers are sent from the waiting loop, not from the handler.
#include "bench/lci_perf/benchmark.hpp"

namespace lci_perf {
namespace {

template <comp_kind C>
void prepare(seat&, const job&) {}

template <comp_kind C>
void receive(seat& s, const job& j, payload_kind payload) {
  inbox<C> box(s, j, payload);
  for (uint64_t k = 0; k < j.count; ++k) {
    box.wait_one(true);
    post_one_am<C>(s, j, k);
  }
  s.drain();
}

template <comp_kind C>
void send(seat& s, const job& j, payload_kind payload) {
  inbox<C> box(s, j, payload);
  for (uint64_t k = 0; k < j.count; ++k) {
    post_one_am<C>(s, j, k);
    box.wait_one(true);
  }
  s.drain();
}

}  // namespace

benchmark am_latency(comp_kind comp) { return LCI_PERF_FOR_COMP(comp, prepare, receive, send); }

}  // namespace lci_perf
