// Streams in both directions of sends into preposted receives.
#include "bench/lci_perf/duplex.hpp"

namespace lci_perf {
namespace {

template <comp_kind C>
struct both_ways {
  static void prepare(seat& s, const job& j) {
    for (uint64_t k = 0; k < j.window && k < j.count; ++k) receive_one(s, j, k);
  }
  static void receive(seat& s, const job& j, payload_kind payload) { run(s, j, payload, true); }
  static void send(seat& s, const job& j, payload_kind payload) {
    prepare(s, j);
    run(s, j, payload, false);
  }

 private:
  // With one rank, the tag distinguishes the two ends.
  static void receive_one(seat& s, const job& j, uint64_t k) {
    post_one_recv<C>(s, j, k, static_cast<lci::tag_t>(s.partner_seed));
  }

  static void run(seat& s, const job& j, payload_kind payload, bool answers) {
    uint64_t posted = j.window < j.count ? j.window : j.count;
    duplex<C>(
        s, j, payload, answers,
        [&](uint64_t) { post_one_send(s, j, static_cast<lci::tag_t>(s.seed)); },
        [&](uint64_t n) {
          for (; n > 0 && posted < j.count; --n) receive_one(s, j, posted++);
        });
  }
};

}  // namespace

benchmark sendrecv_duplex(comp_kind comp) { return by_comp<both_ways>(comp); }

}  // namespace lci_perf
