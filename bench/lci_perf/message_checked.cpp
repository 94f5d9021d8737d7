// Messages that notify the target, first in one direction, then in the other. The receiver checks number and content
// of each.
#include "bench/lci_perf/benchmark.hpp"
#include "bench/lci_perf/team.hpp"

namespace lci_perf {
namespace {

template <op_kind Op>
struct checked {
  template <comp_kind C>
  struct by {
    static void prepare(side& s, const round_plan& plan) {
      std::memset(s.in.get(), 0, plan.size);
      if (Op == op_kind::putsignal) std::memset(s.own_memory, 0, plan.size);
      // The signal of a get carries the data that the target itself has.
      s.check.begin(plan.size, Op == op_kind::getsignal ? s.seed : s.partner_seed, Op == op_kind::orderedam);
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
      for (uint64_t k = 0; k < plan.count; ++k) {
        const lci::rcomp_t target = C == comp_kind::handler ? s.to_partner_check : target_of<C>(s, plan, k);
        post_message<Op>(s, plan.size, target, numbered_tag(s.index, k));
      }
      s.drain();
      if (Op == op_kind::getsignal && !has_pattern(s.in.get(), plan.size, s.partner_seed))
        give_up("a get of " + std::to_string(plan.size) + " bytes has returned wrong data");
    }

    static void take_all(side& s, const round_plan& plan, payload_kind payload) {
      if constexpr (C == comp_kind::handler) {
        while (s.check.seen.load(std::memory_order_acquire) < plan.count) s.progress();  // K2: pairs with K1
      } else {
        inbox<C> box(s, plan, payload);
        uint64_t taken = 0;
        while (taken < plan.count) {
          s.progress();
          taken += box.take([&](const lci::status_t& status) { s.check.look(status); });
        }
        if constexpr (C == comp_kind::counter) {  // a counter provides no statuses
          if (Op == op_kind::putsignal && !has_pattern(s.own_memory, plan.size, s.partner_seed))
            give_up("a put of " + std::to_string(plan.size) + " bytes has delivered wrong data");
          return;
        }
      }
      s.check.end(plan.count);
    }
  };
};

}  // namespace

benchmark message_checked(op_kind op, comp_kind comp) { return by_op_and_comp<checked>(op, comp); }

}  // namespace lci_perf
