// The kinds of benchmark: one file each (am_latency.cpp, am_stream.cpp, ...).
#pragma once

#include "bench/lci_perf/seat.hpp"

namespace lci_perf {

/// The three parts of a round, each run by every thread of its role at the same time.
struct benchmark {
  void (*prepare)(seat&, const job&);  ///< receiver, before the clock starts; may be null
  void (*receive)(seat&, const job&, payload_kind);
  void (*send)(seat&, const job&, payload_kind);  ///< sender; the clock runs while it does
};

benchmark am_latency(comp_kind comp);
benchmark am_stream(comp_kind comp);
benchmark sendrecv_latency(comp_kind comp);
benchmark sendrecv_stream(comp_kind comp);

/// Tells the sender that `count` more messages have been taken. An active message to a handler.
void post_ack(seat& s, uint64_t count);

/// Sends round's messages while no more than a window of them is unacknowledged. `post(k)` sends
/// message k. Progress is made once a batch, and while there is nothing to send.
template <class Post>
inline void stream(seat& s, const job& j, Post post) {
  // A1: pairs with A2 in the acknowledgement's handler
  const uint64_t base = s.acked.load(std::memory_order_acquire);
  uint64_t sent = 0, acked = 0;
  while (sent < j.count) {
    const uint64_t limit = acked + j.window < j.count ? acked + j.window : j.count;
    while (sent < limit) post(sent++);
    s.progress();
    acked = s.acked.load(std::memory_order_acquire) - base;  // A1: pairs with A2
  }
  while (s.acked.load(std::memory_order_acquire) - base < j.count) s.progress();  // A1
  s.drain();
}

#define LCI_PERF_FOR_COMP(comp, prepare, receive, send)                                            \
  ((comp) == comp_kind::handler ? benchmark{prepare<comp_kind::handler>,                           \
                                            receive<comp_kind::handler>, send<comp_kind::handler>} \
   : (comp) == comp_kind::cq                                                                       \
       ? benchmark{prepare<comp_kind::cq>, receive<comp_kind::cq>, send<comp_kind::cq>}            \
       : benchmark{prepare<comp_kind::sync>, receive<comp_kind::sync>, send<comp_kind::sync>})

}  // namespace lci_perf
