// Streams in both directions at once.
#pragma once

#include "bench/lci_perf/benchmark.hpp"

namespace lci_perf {

/// Sends and takes a round's messages at the same time; in either direction no more than a window
/// of them is unacknowledged. `post(k)` sends message k, `took(n)` follows each n that have been
/// taken. The end that answers begins when it hears of the other one: what that needs is there by
/// then.
template <comp_kind C, class Post, class Took>
inline void duplex(seat& s, const job& j, payload_kind payload, bool answers, Post post,
                   Took took) {
  inbox<C> box(s, j, payload);
  const ack_count acks(s);
  ack_giver giver;
  uint64_t sent = 0, acked = 0, taken = 0;
  while (taken < j.count || acked < j.count) {
    const uint64_t limit = acked + j.window < j.count ? acked + j.window : j.count;
    if (taken > 0 || !answers) {
      while (sent < limit) post(sent++);
    }
    s.progress();
    const uint64_t n = box.take();
    taken += n;
    took(n);
    giver.give(s, j, taken);
    acked = acks.get();
  }
  s.drain();
}

}  // namespace lci_perf
