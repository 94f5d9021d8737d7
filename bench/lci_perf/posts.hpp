// The posts that lci_perf measures.
#pragma once

#include "bench/lci_perf/inbox.hpp"

namespace lci_perf {

/// The remote completion object of message `k` of a round.
template <comp_kind C>
inline lci::rcomp_t target_of(const side& s, const round_plan& plan, uint64_t k) {
  if constexpr (C == comp_kind::handler) return s.to_partner_handler;
  if constexpr (C == comp_kind::cq) return s.to_partner_cq;
  if constexpr (C == comp_kind::counter) return s.to_partner_counter;
  return s.to_partner_syncs[k / plan.batch % syncs_per_side];
}

/// The completion object of receive `k` of a round.
template <comp_kind C>
inline lci::comp_t comp_of_recv(const side& s, const round_plan& plan, uint64_t k) {
  if constexpr (C == comp_kind::handler) return s.on_recv;
  if constexpr (C == comp_kind::cq) return s.cq;
  if constexpr (C == comp_kind::counter) return s.counter;
  return s.syncs[k / plan.batch % syncs_per_side];
}

/// Repeats a post until it does not return retry, and makes progress in between. Always inlined, as the posts are, so
/// that statuses and captures stay in registers: otherwise their stores to memory would delay those of the next
/// message, and the measurement would contain that delay.
template <class Post>
LCI_ALWAYS_INLINE inline void insist(side& s, Post post) {
  while (true) {
    const lci::status_t status = post();
    if (__builtin_expect(status.is_done(), 1)) return;
    if (status.is_posted()) {
      ++s.local_expected;
      return;
    }
    s.progress();
  }
}

/// Posts a message that notifies the partner: an active message, or a put or get with a signal.
template <op_kind Op>
LCI_ALWAYS_INLINE inline void post_message(side& s, size_t size, lci::rcomp_t target, lci::tag_t tag) {
  insist(s, [&]() LCI_ALWAYS_INLINE {
    if constexpr (Op == op_kind::am) {
      return lci::post_am_x(s.partner_rank, s.out.get(), size, s.local, target).device(s.to_partner).tag(tag)();
    } else if constexpr (Op == op_kind::orderedam) {
      return lci::post_am_x(s.partner_rank, s.out.get(), size, s.local, target)
          .device(s.to_partner)
          .tag(tag)
          .stream(s.stream)();
    } else if constexpr (Op == op_kind::putsignal) {
      return lci::post_put_x(s.partner_rank, s.out.get(), size, s.local, s.remote_disp, s.remote)
          .device(s.to_partner)
          .tag(tag)
          .remote_comp(target)();
    } else {
      return lci::post_get_x(s.partner_rank, s.in.get(), size, s.local, s.remote_disp, s.remote)
          .device(s.to_partner)
          .tag(tag)
          .remote_comp(target)();
    }
  });
}

/// Posts message `k` of a round.
template <op_kind Op, comp_kind C>
LCI_ALWAYS_INLINE inline void post_message(side& s, const round_plan& plan, uint64_t k) {
  post_message<Op>(s, plan.size, target_of<C>(s, plan, k), static_cast<lci::tag_t>(s.index));
}

LCI_ALWAYS_INLINE inline void post_one_send(side& s, const round_plan& plan, lci::tag_t tag) {
  insist(s, [&]() LCI_ALWAYS_INLINE {
    return lci::post_send_x(s.partner_rank, s.out.get(), plan.size, tag, s.local).device(s.to_partner)();
  });
}

/// Posts receive `k` of a round; its completion is always reported through the completion object.
template <comp_kind C>
LCI_ALWAYS_INLINE inline void post_one_recv(side& s, const round_plan& plan, uint64_t k, lci::tag_t tag) {
  while (lci::post_recv_x(s.partner_rank, s.in.get(), plan.size, tag, comp_of_recv<C>(s, plan, k))
             .device(s.device)
             .allow_done(false)
             .user_context(&s)()
             .is_retry()) {
    s.progress();
  }
}

}  // namespace lci_perf
