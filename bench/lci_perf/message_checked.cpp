// Messages that notify the target, first in one direction, then in the other; each is checked.
#include "bench/lci_perf/benchmark.hpp"
#include "bench/lci_perf/team.hpp"

namespace lci_perf {
namespace {

template <op_kind Op>
struct checked {
  template <comp_kind C>
  struct by {
    static void prepare(seat& s, const job& j) {
      std::memset(s.in.get(), 0, j.size);
      if (Op == op_kind::putsignal) std::memset(s.home, 0, j.size);
      // The signal of a get carries the data that the target itself has.
      s.check.begin(j.size, Op == op_kind::getsignal ? s.seed : s.partner_seed,
                    Op == op_kind::orderedam);
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
      for (uint64_t k = 0; k < j.count; ++k) {
        const lci::rcomp_t target =
            C == comp_kind::handler ? s.to_partner_check : target_of<C>(s, j, k);
        post_message<Op>(s, j.size, target, numbered_tag(s.index, k));
      }
      s.drain();
      if (Op == op_kind::getsignal && !has_pattern(s.in.get(), j.size, s.partner_seed))
        give_up("a get of " + std::to_string(j.size) + " bytes has returned wrong data");
    }

    static void take_all(seat& s, const job& j, payload_kind payload) {
      if constexpr (C == comp_kind::handler) {
        while (s.check.seen.load(std::memory_order_acquire) < j.count)
          s.progress();  // K2: pairs with K1
      } else {
        inbox<C> box(s, j, payload);
        uint64_t taken = 0;
        while (taken < j.count) {
          s.progress();
          taken += box.take([&](const lci::status_t& status) { s.check.look(status); });
        }
        if constexpr (C == comp_kind::counter) {  // a counter provides no statuses
          if (Op == op_kind::putsignal && !has_pattern(s.home, j.size, s.partner_seed))
            give_up("a put of " + std::to_string(j.size) + " bytes has delivered wrong data");
          return;
        }
      }
      s.check.end(j.count);
    }
  };
};

}  // namespace

benchmark message_checked(op_kind op, comp_kind comp) { return by_op_and_comp<checked>(op, comp); }

}  // namespace lci_perf
