// The entry of every post. Posts with a name or a deadline, and posts to observed devices, branch off here.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <new>

#include "lib/core/device/device.hpp"
#include "lib/core/device/in_progress.hpp"
#include "lib/core/operation/ticket.hpp"
#include "lib/core/post/observe_post.hpp"

namespace lci::core {

/// Returns whether the operation has a name or a deadline; also true if the deadline is NaN. Each post calls it, so it
/// is one comparison of integers: as integers, negative numbers down to minus infinity are at most minus infinity's
/// bits, and those of a NaN with a sign are greater.
template <class Args>
inline bool is_named(const Args& a) {
  constexpr auto minus_infinity = std::bit_cast<int64_t>(-std::numeric_limits<double>::infinity());
  return a.operation != nullptr || std::bit_cast<int64_t>(a.deadline) > minus_infinity;
}

/// Calls `post()`, which posts with the arguments `a`, for an operation that can be cancelled or has a deadline.
template <class Args, class Post>
LCI_COLD status_t with_name(Args& a, Post post) {
  if (std::isnan(a.deadline)) reject_deadline(a.deadline);
  operation_t here;
  if (a.operation == nullptr) a.operation = &here;
  *a.operation = {};
  // Made before the post: an operation that is outstanding must not fail for lack of memory.
  const timers::room room_for_deadline(timers::has_end(a.deadline) ? &a.device.p_impl->deadlines : nullptr);
  status_t status;
  try {
    status = post();
  } catch (...) {
    *a.operation = {};
    throw;
  }
  status.is_posted() ? arm_deadline(a) : void(*a.operation = {});
  return status;
}

/// with_name() for one of the kinds of operations that an observer sees.
template <class Args>
LCI_COLD status_t post_named(post_kind what, Args& a, status_t (*post)(Args&)) {
  return with_name(a, [&] {
    device& d = *a.device.p_impl;
    return d.observer != nullptr ? observe_post(d, what, a, post) : post(a);
  });
}

/// Throws "post_am: out of memory" and the like.
[[noreturn]] LCI_COLD void throw_no_memory(post_kind what);

/// Calls `post`, the implementation of this kind of operation.
template <class Args>
inline status_t begin_post(post_kind what, Args& a, status_t (*post)(Args&)) {
  // Within a handler progress() does nothing, so a retry could never succeed.
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
