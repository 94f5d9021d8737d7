// Streams in both directions concurrently.
#pragma once

#include "bench/lci_perf/benchmark.hpp"

namespace lci_perf {

/// Sends and receives a round's messages concurrently; in each direction at most a window of them is unacknowledged.
/// `post(k)` sends message k; `took(n)` is called after each n messages taken. The answering end starts to send after
/// it has received a message: by then the other end is prepared.
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
