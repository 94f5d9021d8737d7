// Posts to a device that is looked at. To one that is not, this is one branch off the plain path.
#pragma once

#include <cstdint>
#include <utility>

#include "lib/core/device/argument_checks.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/transfer/atomics.hpp"

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
/// Stands before `given`; null if nothing can be signalled. `begin`: of the post.
LCI_COLD watched_comp* watch(device& d, post_kind what, comp_t given, uint64_t begin);

template <class Args>
observed_post seen(post_kind what, const Args& a) {
  return {what, a.rank, a.size, a.tag};
}
inline observed_post seen(post_kind what, const post_atomic_args& a) {
  return {what, a.rank, size_of(a.type), 0};
}

template <class Args>
LCI_COLD status_t observe_post(device& d, post_kind what, Args& a, status_t (*post)(Args&)) {
  const uint64_t begin = tracer::now();
  // A post within a handler within a post: each has a message of its own.
  struct turn {
    const uint64_t before = std::exchange(tracer::sent_message, 0);
    ~turn() { tracer::sent_message = before; }
  } const mine;
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
