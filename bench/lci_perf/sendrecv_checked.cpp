// Sends into preposted receives, first in one direction, then in the other; the received data is checked. All messages
// of a direction are equal and share one buffer.
#include "bench/lci_perf/benchmark.hpp"
#include "bench/lci_perf/team.hpp"

namespace lci_perf {
namespace {

template <comp_kind C>
struct checked {
  static void prepare(seat& s, const job& j) {
    std::memset(s.in.get(), 0, j.size);
    for (uint64_t k = 0; k < j.count; ++k)
      post_one_recv<C>(s, j, k, static_cast<lci::tag_t>(s.partner_seed));
  }

  static void receive(seat& s, const job& j, payload_kind payload) {
    take_all(s, j, payload);
    send_all(s, j);
  }

  static void send(seat& s, const job& j, payload_kind payload) {
    prepare(s, j);
    send_all(s, j);
    take_all(s, j, payload);
  }

 private:
  static void send_all(seat& s, const job& j) {
    for (uint64_t k = 0; k < j.count; ++k) post_one_send(s, j, static_cast<lci::tag_t>(s.seed));
    s.drain();
  }

  static void take_all(seat& s, const job& j, payload_kind payload) {
    inbox<C> box(s, j, payload);
    uint64_t taken = 0;
    while (taken < j.count) {
      s.progress();
      taken += box.take();
    }
    if (!has_pattern(s.in.get(), j.size, s.partner_seed))
      give_up("receives of " + std::to_string(j.size) + " bytes have received wrong data");
  }
};

}  // namespace

benchmark sendrecv_checked(comp_kind comp) { return by_comp<checked>(comp); }

}  // namespace lci_perf
