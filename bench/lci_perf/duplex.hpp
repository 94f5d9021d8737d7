// Streams in both directions concurrently.
#pragma once

#include "bench/lci_perf/benchmark.hpp"

namespace lci_perf {

/// Sends and receives a round's messages concurrently; in each direction at most a window of them is unacknowledged.
/// `post(k)` sends message k; `took(n)` is called after each n messages taken. If `answers`, the side starts
/// to send only after it has received a message: by then the other side is prepared.
template <comp_kind C, class Post, class Took>
inline void duplex(side& s, const round_plan& plan, payload_kind payload, bool answers, Post post, Took took) {
  inbox<C> box(s, plan, payload);
  const ack_count acks(s);
  ack_giver giver;
  uint64_t sent = 0, acked = 0, taken = 0;
  while (taken < plan.count || acked < plan.count) {
    const uint64_t limit = acked + plan.window < plan.count ? acked + plan.window : plan.count;
    if (taken > 0 || !answers) {
      while (sent < limit) post(sent++);
    }
    s.progress();
    const uint64_t n = box.take();
    taken += n;
    took(n);
    giver.give(s, plan, taken);
    acked = acks.get();
  }
  s.drain();
}

}  // namespace lci_perf
