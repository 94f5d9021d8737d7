// The fast path of small messages: functions that only try the core's direct path, inline. If it does not apply, the
// caller passes its arguments to a function that is not inline and handles all cases. So the common case saves no
// registers for the others.
#pragma once

#include <lci.h>

#include <lci.hpp>

#include "lib/layers/v1/ids.hpp"
#include "lib/layers/v1/world.hpp"

namespace v1 {

/// Returns whether the core's direct path may be tried with the program's arguments, without further checks.
LCI_ALWAYS_INLINE inline bool is_usual(LCI_tag_t tag) { return LCI_LIKELY(tag < detail::usual_tags); }

/// Returns whether only the first 8 bytes of a short message are not 0.
LCI_ALWAYS_INLINE inline bool is_word(const LCI_short_t& s) {
  return LCI_LIKELY((s.words[1] | s.words[2] | s.words[3]) == 0);
}

/// The arguments of a post that are used again after it: see lci::keep_in_memory().
struct kept_short {
  LCI_endpoint_t ep;
  int rank;
  LCI_tag_t tag;
};
struct kept_medium : kept_short {
  LCI_mbuffer_t buffer;
};

[[gnu::cold, gnu::noinline]] inline void count_first_sent(const LCI_endpoint_s& ep) { count_sent(ep.id); }
/// Counts a message that was posted directly, for group fences. In a thread without a state, another function does, so
/// that the caller saves no register for that case.
LCI_ALWAYS_INLINE inline void count_direct(const LCI_endpoint_s& ep) {
  thread_state* const mine = detail::tls_state;
  if (LCI_UNLIKELY(mine == nullptr)) return count_first_sent(ep);
  lci::increment_own(counts_at(*mine, ep.counts).sent);
}

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

/// Returns whether the core's direct path takes a word for the rank. The word must not be in a packet.
LCI_ALWAYS_INLINE inline bool takes_word(const LCI_endpoint_s& ep, int rank) {
  if (ep.core.p_impl == nullptr) __builtin_unreachable();
  const lci::detail::device_front& front = lci::detail::front_of(ep.core.p_impl);
  return LCI_LIKELY(static_cast<unsigned>(rank) < static_cast<unsigned>(front.n_peers)) &&
         LCI_LIKELY(front.direct_end > 8) && LCI_LIKELY(front.not_plain.load(std::memory_order_acquire) == 0);
}

/// Posts a word, which must not be in a packet, as an active message. Returns false if nothing was sent.
LCI_ALWAYS_INLINE inline bool word_directly(const LCI_endpoint_s& ep, int rank, const void* word, LCI_tag_t tag) {
  return takes_word(ep, rank) && LCI_LIKELY(lci::detail::inject_am(ep.core.p_impl, rank, ep.in_place,
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

/// Sends a word, which must not be in a packet, as a matched message. Returns false if nothing was sent.
LCI_ALWAYS_INLINE inline bool send_word_directly(const LCI_endpoint_s& ep, int rank, const void* word, space where,
                                                 LCI_tag_t tag) {
  return LCI_LIKELY(ep.direct_sends != LCI_endpoint_s::no_direct_sends) && takes_word(ep, rank) &&
         LCI_LIKELY(lci::detail::inject_send(ep.core.p_impl, rank, ep.direct_sends, tag_of(where) | ep.id_bits | tag,
                                             word, 8) == lci::errorcode_t::done);
}
/// LCI_endpoint_s::direct_sends.
inline uint32_t direct_sends_of(const LCI_endpoint_s& ep) {
  const uint32_t engine = lci::detail::front_of(ep.core.p_impl).engine;
  return engine == lci::detail::device_front::no_engine ? LCI_endpoint_s::no_direct_sends
                                                        : engine << 8 | static_cast<uint32_t>(ep.policy);
}

/// Returns whether receive_directly() can post a receive from the rank.
LCI_ALWAYS_INLINE inline bool can_receive_directly(const LCI_endpoint_s& ep, int rank) {
  if (ep.core.p_impl == nullptr) __builtin_unreachable();
  return LCI_LIKELY(ep.direct_receives != 0) &&
         LCI_LIKELY(lci::detail::may_receive_directly(lci::detail::front_of(ep.core.p_impl), rank));
}
/// Posts a receive by rank and tag into a buffer that is not null. Returns null if it waits for a message. Else the
/// status, valid until the thread's next call, is that of the message, or `retry...` if nothing was done.
LCI_ALWAYS_INLINE inline const lci::status_t* receive_directly(const LCI_endpoint_s& ep, int rank, void* buffer,
                                                               size_t size, space where, LCI_tag_t tag,
                                                               lci::comp_impl_t* comp, void* user_context) {
  if (ep.core.p_impl == nullptr) __builtin_unreachable();
  const uint64_t terms =
      ep.direct_receives | static_cast<uint64_t>(static_cast<uint32_t>(rank)) << 32 | tag_of(where) | tag;
  return lci::detail::file_receive(ep.core.p_impl, terms, buffer, size, comp, user_context);
}
/// LCI_endpoint_s::direct_receives.
inline uint64_t direct_receives_of(const LCI_endpoint_s& ep) {
  const bool possible = ep.policy == lci::matching_policy_t::rank_tag &&
                        lci::detail::front_of(ep.core.p_impl).engine != lci::detail::device_front::no_engine;
  return possible ? lci::detail::receive_terms::pack(0, ep.id_bits, ep.policy, true) : 0;
}

}  // namespace v1
