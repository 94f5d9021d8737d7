// Sends into preposted receives, first in one direction, then in the other; the received data is checked. All messages
// of a direction are equal and share one buffer.
#include "bench/lci_perf/benchmark.hpp"
#include "bench/lci_perf/team.hpp"

namespace lci_perf {
namespace {

template <comp_kind C>
struct checked {
  static void prepare(side& s, const round_plan& plan) {
    std::memset(s.in.get(), 0, plan.size);
    for (uint64_t k = 0; k < plan.count; ++k) post_one_recv<C>(s, plan, k, static_cast<lci::tag_t>(s.partner_seed));
  }

  static void receive(side& s, const round_plan& plan, payload_kind payload) {
    take_all(s, plan, payload);
    send_all(s, plan);
  }

  static void send(side& s, const round_plan& plan, payload_kind payload) {
    prepare(s, plan);
    send_all(s, plan);
    take_all(s, plan, payload);
  }

 private:
  static void send_all(side& s, const round_plan& plan) {
    for (uint64_t k = 0; k < plan.count; ++k) post_one_send(s, plan, static_cast<lci::tag_t>(s.seed));
    s.drain();
  }

  static void take_all(side& s, const round_plan& plan, payload_kind payload) {
    inbox<C> box(s, plan, payload);
    uint64_t taken = 0;
    while (taken < plan.count) {
      s.progress();
      taken += box.take();
    }
    if (!has_pattern(s.in.get(), plan.size, s.partner_seed))
      give_up("receives of " + std::to_string(plan.size) + " bytes have received wrong data");
  }
};

}  // namespace

benchmark sendrecv_checked(comp_kind comp) { return by_comp<checked>(comp); }

}  // namespace lci_perf
