// The fast path of small messages: functions that only try the core's direct path, inline. If it does not apply, the
// caller passes its arguments to a function that is not inline and handles all cases. So the common case saves no
// registers for the others.
#pragma once

#include <lci.h>

#include <lci.hpp>

#include "lib/layers/v1/ids.hpp"
#include "lib/layers/v1/world.hpp"

namespace v1 {

/// Whether the core's direct path may be tried with the program's arguments, without further checks.
LCI_ALWAYS_INLINE inline bool is_usual(LCI_tag_t tag) { return LCI_LIKELY(tag < detail::usual_tags); }

/// Whether only the first 8 bytes of a short message are not 0.
LCI_ALWAYS_INLINE inline bool is_word(const LCI_short_t& s) {
  return LCI_LIKELY((s.words[1] | s.words[2] | s.words[3]) == 0);
}

/// Counts a message that was posted directly, for group fences.
LCI_ALWAYS_INLINE inline void count_direct(const LCI_endpoint_s& ep) { add_one(counts_at(my_state(), ep.counts).sent); }

/// Posts an active message. Returns false, without effect, if the direct path does not apply.
LCI_ALWAYS_INLINE inline bool am_directly(const LCI_endpoint_s& ep, int rank, const void* buffer, size_t size,
                                          lci::rcomp_t to, arrival what, LCI_tag_t tag) {
  if (to == 0 || ep.core.p_impl == nullptr) __builtin_unreachable();
  lci::post_am_args a;
  a.rank = rank;
  a.local_buffer = buffer;
  a.size = size;
  a.remote_comp = to;
  a.device = ep.core;
  a.tag = tag_of(what) | ep.id_bits | tag;
  lci::status_t unused;
  return LCI_LIKELY(lci::detail::direct_am(a, unused));
}

/// The same for a word that is no memory of packets.
LCI_ALWAYS_INLINE inline bool word_directly(const LCI_endpoint_s& ep, int rank, const void* word, LCI_tag_t tag) {
  if (ep.core.p_impl == nullptr) __builtin_unreachable();
  const lci::detail::device_front& front = lci::detail::front_of(ep.core.p_impl);
  return LCI_LIKELY(static_cast<unsigned>(rank) < static_cast<unsigned>(front.n_peers)) &&
         LCI_LIKELY(front.direct_end > 8) && LCI_LIKELY(front.not_plain.load(std::memory_order_acquire) == 0) &&
         LCI_LIKELY(lci::detail::inject_am(ep.core.p_impl, rank, ep.in_place,
                                           tag_of(arrival::immediate) | ep.id_bits | tag, word,
                                           8) == lci::errorcode_t::done);
}

/// Sends a matched message, if the core's fast path can. Returns false if nothing was sent.
LCI_ALWAYS_INLINE inline bool send_directly(const LCI_endpoint_s& ep, int rank, const void* buffer, size_t size,
                                            space where, LCI_tag_t tag) {
  if (ep.core.p_impl == nullptr) __builtin_unreachable();
  lci::post_send_args a;
  a.rank = rank;
  a.local_buffer = buffer;
  a.size = size;
  a.device = ep.core;
  a.tag = tag_of(where) | ep.id_bits | tag;
  a.matching_policy = ep.policy;
  lci::status_t unused;
  return LCI_LIKELY(lci::detail::direct_send(a, unused));
}

/// Posts a receive by rank and tag. Returns false, without effect, if the direct path does not apply.
LCI_ALWAYS_INLINE inline bool receive_directly(const LCI_endpoint_s& ep, int rank, void* buffer, size_t size,
                                               space where, LCI_tag_t tag, lci::comp_impl_t* comp, void* user_context,
                                               lci::status_t& status) {
  if (ep.core.p_impl == nullptr || lci::comp_t(comp).is_empty()) __builtin_unreachable();
  lci::post_recv_args a;
  a.rank = rank;
  a.local_buffer = buffer;
  a.size = size;
  a.local_comp = lci::comp_t(comp);
  a.device = ep.core;
  a.tag = tag_of(where) | ep.id_bits | tag;
  a.matching_policy = lci::matching_policy_t::rank_tag;
  a.user_context = user_context;
  return LCI_LIKELY(lci::detail::direct_recv(a, status));
}

}  // namespace v1
