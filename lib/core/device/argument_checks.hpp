// Functions that check the arguments of posts, and functions that throw the exceptions for wrong ones.
#pragma once

#include "lci/operations.hpp"
#include "lib/base/check.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/match/matching_engine.hpp"
#include "lib/core/memory/memory_region.hpp"

namespace lci::core {

/// Returns false for COMP_NULL and the constants beside it, which are no objects.
inline bool can_signal(comp_t comp) { return !comp.is_empty(); }

/// Returns whether the post may return a retry. With COMP_NULL it may not, whatever its allow_retry says.
template <class Args>
inline bool may_retry(const Args& a) {
  return a.allow_retry && a.local_comp.p_impl != nullptr;
}

/// Returns whether the operation is over as soon as the network has taken a copy of the message.
template <class Args>
inline bool ends_with_copy(const device& d, const Args& a) {
  return LCI_LIKELY(a.comp_semantic == comp_semantic_t::memory) ||
         (a.comp_semantic == comp_semantic_t::network && d.limits.sends_land_at_once);
}

/// The policy of a receive from any source or of any tag: what remains to be compared.
inline matching_policy_t wildcard_policy(int rank, tag_t tag, matching_policy_t policy) {
  auto bits = static_cast<unsigned>(policy);
  if (rank == ANY_SOURCE) bits &= ~static_cast<unsigned>(matching_policy_t::rank_only);
  if (tag == ANY_TAG) bits &= ~static_cast<unsigned>(matching_policy_t::tag_only);
  return static_cast<matching_policy_t>(bits);
}
static_assert(static_cast<unsigned>(matching_policy_t::rank_only) == 1 &&
              static_cast<unsigned>(matching_policy_t::tag_only) == 2);

inline bool looks_at_rank(matching_policy_t policy) {
  return (static_cast<unsigned>(policy) & static_cast<unsigned>(matching_policy_t::rank_only)) != 0;
}

/// Returns whether memory can be that large.
inline bool is_possible(size_t size) { return static_cast<int64_t>(size) >= 0; }
[[noreturn]] LCI_COLD void reject_size(const char* what, size_t size, const char* argument = "size");

inline bool is_policy(matching_policy_t policy) {
  return static_cast<unsigned>(policy) < static_cast<unsigned>(matching_policy_t::max);
}
[[noreturn]] LCI_COLD void reject_policy(const char* what, matching_policy_t policy);

inline bool valid_receive(const device& d, const post_recv_args& a, matching_policy_t policy) {
  const auto bits = static_cast<unsigned>(policy);
  return ((bits & 1) == 0 || static_cast<unsigned>(a.rank) < static_cast<unsigned>(d.n_peers)) &&
         (a.local_buffer != nullptr || a.size == 0) && ((bits & 2) == 0 || a.tag <= max_tag) &&
         is_policy(a.matching_policy) && is_possible(a.size);
}

[[noreturn]] LCI_COLD void reject_receive(const device& d, const post_recv_args& a, matching_policy_t policy);
[[noreturn]] LCI_COLD void reject_remote(const char* what, const device& d, const rmr_t& rmr, uint64_t disp,
                                         size_t size, const char* disp_name = "remote_disp");
[[noreturn]] LCI_COLD void reject_registration(const device& d, const memory_region& region);
/// For a post that the network answers with `fatal`: the rank has failed, or has freed its device.
[[noreturn]] LCI_COLD void throw_peer_failure(const device& d, int rank);
[[noreturn]] LCI_COLD void throw_refused(int rank);
[[noreturn]] LCI_COLD void throw_too_many_operations();
/// For a call whose argument `timeout` is NaN.
[[noreturn]] LCI_COLD void reject_timeout(const char* operation);
[[noreturn]] LCI_COLD void throw_no_pool(size_t size);

/// The range must lie in what the owner has registered with its device of the same uid.
inline void check_remote(const char* what, const device& d, const rmr_t& rmr, uint64_t disp, size_t size) {
  if (LCI_UNLIKELY(rmr.is_empty() || !rmr.is_of(d.attr.uid) || disp > rmr.size() || size > rmr.size() - disp))
    reject_remote(what, d, rmr, disp, size);
}

}  // namespace lci::core
