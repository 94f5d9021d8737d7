// Posting small messages: arguments that can't be right, and what a post's status means.
#pragma once

#include <lci.h>

#include <lci.hpp>

#include "lib/layers/v1/buffers.hpp"
#include "lib/layers/v1/checking.hpp"
#include "lib/layers/v1/errors.hpp"
#include "lib/layers/v1/ids.hpp"
#include "lib/layers/v1/world.hpp"

namespace v1 {

[[noreturn, gnu::cold]] void throw_tag(LCI_tag_t tag);
[[noreturn, gnu::cold]] void throw_medium_size(size_t size);
[[noreturn, gnu::cold]] void throw_no_rank();
[[noreturn, gnu::cold]] void throw_no_completion();

/// The endpoint's device. Says to the compiler that there is one, so that posts do not look for a default device.
LCI_ALWAYS_INLINE inline lci::device_t device_of(const LCI_endpoint_s& ep) {
  if (ep.core.p_impl == nullptr) __builtin_unreachable();
  return ep.core;
}
/// A tag that is too large would name another endpoint, so it is refused also without the checking mode.
LCI_ALWAYS_INLINE inline lci::tag_t send_tag(const LCI_endpoint_s& ep, space s, LCI_tag_t tag) {
  if (LCI_UNLIKELY(tag > max_tag)) throw_tag(tag);
  return tag_of(s) | ep.id_bits | tag;
}
LCI_ALWAYS_INLINE inline lci::tag_t arrival_tag(const LCI_endpoint_s& ep, arrival a, LCI_tag_t tag) {
  if (LCI_UNLIKELY(tag > max_tag)) throw_tag(tag);
  return tag_of(a) | ep.id_bits | tag;
}
LCI_ALWAYS_INLINE inline void require_medium(size_t size) {
  if (LCI_UNLIKELY(size > static_cast<size_t>(LCI_MEDIUM_SIZE))) throw_medium_size(size);
}
/// Bytes of a short message that are sent: words at its end that are 0 are not, as two messages of 8 bytes take as much
/// of a lane of shared memory as one of 32. fill_short() adds them.
LCI_ALWAYS_INLINE inline size_t short_size(const LCI_short_t& s) {
  const uint64_t upper = s.words[2] | s.words[3];
  if (LCI_UNLIKELY(upper != 0)) return sizeof s;
  return s.words[1] != 0 ? 16 : 8;
}
/// The rank that a receive names to the core.
LCI_ALWAYS_INLINE inline int source_of(const LCI_endpoint_s& ep, int rank) {
  if (LCI_UNLIKELY(ep.policy == lci::matching_policy_t::tag_only)) return lci::ANY_SOURCE;
  if (LCI_UNLIKELY(rank < 0)) throw_no_rank();
  return rank;
}
/// Throws if there is no completion object: the program would not get, and not free, a buffer that the library
/// allocates.
inline void require_completion(const comp& to) {
  if (LCI_UNLIKELY(to.what == comp::kind::none)) throw_no_completion();
}
/// The object of a local completion handle. Throws if the object was freed, or the handle is invalid.
LCI_ALWAYS_INLINE inline comp& completion_of(LCI_comp_t handle) {
  comp& c = the_world().comps.find(handle);
  if (LCI_UNLIKELY(c.what == comp::kind::freed))
    throw_wrong_kind(handle, c.what, "a completion object", "LCI_*_create");
  return c;
}

/// Signals the local completion of a medium message whose buffer is free already.
void deliver_sent(comp& to, LCI_mbuffer_t buffer, int rank, LCI_tag_t tag, void* user_context);

/// The result of a message that is complete when it was posted.
LCI_ALWAYS_INLINE inline LCI_error_t sent(const LCI_endpoint_s& ep, const lci::status_t& status) {
  if (LCI_UNLIKELY(status.is_retry())) return refused();
  count_sent(ep.id);
  return LCI_OK;
}

}  // namespace v1
