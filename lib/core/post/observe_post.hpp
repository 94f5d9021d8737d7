// Posts to a device with an observer. Other posts pay one branch for it.
#pragma once

#include <cstdint>

#include "lib/core/device/argument_checks.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/transfer/atomics.hpp"

namespace lci::core {

/// What an observer records of a post.
struct observed_post {
  post_kind what;
  int rank;
  uint64_t size;
  uint64_t tag;
};

/// Records a post that has returned `status`, be it a retry. `begin`: tracer::now() when the post began.
LCI_COLD void note_post(device& d, const observed_post& p, uint64_t begin, const status_t& status);
/// A completion object that forwards to `given`; null if `given` can't be signalled.
LCI_COLD watched_comp* watch(device& d, post_kind what, comp_t given, uint64_t begin);

template <class Args>
observed_post seen(post_kind what, const Args& a) {
  return {what, a.rank, a.size, a.tag};
}
inline observed_post seen(post_kind what, const post_atomic_args& a) { return {what, a.rank, size_of(a.type), 0}; }

template <class Args>
LCI_COLD status_t observe_post(device& d, post_kind what, Args& a, status_t (*post)(Args&)) {
  const uint64_t begin = tracer::now();
  const tracer::scope mine;
  watched_comp* const w = watch(d, what, a.local_comp, begin);
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

}  // namespace lci::core
