// Posts to a device that is looked at. To one that is not, this is one branch off the plain path.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "lib/core/atomics.hpp"
#include "lib/core/device.hpp"
#include "lib/core/protocol.hpp"
#include "lib/core/ticket.hpp"

namespace lci::core {

/// A post as an observer sees it.
struct observed_post {
  post_kind what;
  int rank;
  uint64_t size;
  uint64_t tag;
};

/// Notes the end of a post that was accepted, or refused for now.
LCI_COLD void note_post(device& d, const observed_post& p, uint64_t begin, const status_t& status);
/// Stands before `given` while a trace is taken; null if none is, or nothing can be signalled.
LCI_COLD watched_comp* watch(device& d, post_kind what, comp_t given);

template <class Args>
observed_post seen(post_kind what, const Args& a) {
  return {what, a.rank, a.size, a.tag};
}
inline observed_post seen(post_kind what, const post_atomic_args& a) {
  return {what, a.rank, size_of(a.type), 0};
}

template <class Args>
LCI_COLD status_t observe_post(device& d, post_kind what, Args& a, status_t (*post)(Args&)) {
  const uint64_t begin = d.observer->now();
  watched_comp* const w = watch(d, what, a.local_comp);
  if (w != nullptr) a.local_comp = comp_t(w);
  status_t status;
  try {
    status = post(a);
  } catch (...) {
    if (w != nullptr) w->cancel();
    throw;
  }
  if (w != nullptr) status.is_posted() ? w->posted(tracer::now()) : w->cancel();
  note_post(d, seen(what, a), begin, status);
  return status;
}

/// Whether the operation is to have a name or a deadline. (The sign alone: it is asked at each post.)
template <class Args>
inline bool is_named(const Args& a) {
  return a.operation != nullptr || std::bit_cast<int64_t>(a.deadline) >= 0;
}

[[noreturn]] LCI_COLD void reject_deadline(double seconds);

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

/// Posts by `post`, and notes it if the device is looked at.
template <class Args>
inline status_t post_observed(post_kind what, Args& a, status_t (*post)(Args&)) {
  if (LCI_UNLIKELY(is_named(a))) return post_named(what, a, post);
  device& d = *a.device.p_impl;
  if (LCI_UNLIKELY(d.observer != nullptr)) return observe_post(d, what, a, post);
  return post(a);
}

}  // namespace lci::core
