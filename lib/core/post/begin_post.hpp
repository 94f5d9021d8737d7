// The way into every post: one that has a name or a deadline, one to a device that is looked at, or, as
// mostly, neither.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <new>

#include "lib/core/device/device.hpp"
#include "lib/core/operation/ticket.hpp"
#include "lib/core/post/observe_post.hpp"

namespace lci::core {

/// Whether the operation is to have a name or a deadline; true of anything that is no number, too. It is
/// asked at each post, so by one comparison of integers: negative numbers down to minus infinity are, as
/// integers, at most those of minus infinity, and a NaN with a sign lies above.
template <class Args>
inline bool is_named(const Args& a) {
  constexpr auto minus_infinity =
      std::bit_cast<int64_t>(-std::numeric_limits<double>::infinity());
  return a.operation != nullptr || std::bit_cast<int64_t>(a.deadline) > minus_infinity;
}

/// Posts by `post` an operation that can be cancelled, or has a deadline.
template <class Args>
LCI_COLD status_t post_named(post_kind what, Args& a, status_t (*post)(Args&)) {
  if (std::isnan(a.deadline)) reject_deadline(a.deadline);
  operation_t here;
  if (a.operation == nullptr) a.operation = &here;
  *a.operation = {};
  status_t status;
  try {
    device& d = *a.device.p_impl;
    status = d.observer != nullptr ? observe_post(d, what, a, post) : post(a);
  } catch (...) {
    *a.operation = {};
    throw;
  }
  status.is_posted() ? arm_deadline(a) : void(*a.operation = {});
  return status;
}

/// Throws "post_am: out of memory" and the like.
[[noreturn]] LCI_COLD void throw_no_memory(post_kind what);

/// Posts by `post`, which does the work of this kind of operation.
template <class Args>
inline status_t begin_post(post_kind what, Args& a, status_t (*post)(Args&)) {
  // A handler could make no progress before it tries again, and would wait for itself.
  if (LCI_UNLIKELY(tls_in_progress)) a.allow_retry = false;
  try {
    if (LCI_UNLIKELY(is_named(a))) return post_named(what, a, post);
    device& d = *a.device.p_impl;
    if (LCI_UNLIKELY(d.observer != nullptr)) return observe_post(d, what, a, post);
    return post(a);
  } catch (const std::bad_alloc&) {
    throw_no_memory(what);
  }
}

}  // namespace lci::core
