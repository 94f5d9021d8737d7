// The kinds of benchmark: one file each (message_latency.cpp, sendrecv_stream.cpp, ...).
#pragma once

#include "bench/lci_perf/posts.hpp"

namespace lci_perf {

/// The three parts of a round. Each is run concurrently by every thread of its role.
struct benchmark {
  void (*prepare)(side&, const round_plan&);  ///< receiver, before the clock starts
  void (*receive)(side&, const round_plan&, payload_kind);
  void (*send)(side&, const round_plan&, payload_kind);  ///< sender; the clock runs while it does
};

// What a message is: see post_message(). Messages notify the target by a completion object.
benchmark message_latency(op_kind op, comp_kind comp);
benchmark message_stream(op_kind op, comp_kind comp);
benchmark message_duplex(op_kind op, comp_kind comp);
benchmark sendrecv_latency(comp_kind comp);
benchmark sendrecv_stream(comp_kind comp);
benchmark sendrecv_duplex(comp_kind comp);

// Not measured: both ends check that every message arrives exactly once and unchanged.
benchmark message_checked(op_kind op, comp_kind comp);
benchmark sendrecv_checked(comp_kind comp);

/// Makes `count` round trips. Times each one if the side's log is enabled.
template <class Trip>
inline void round_trips(side& s, uint64_t count, Trip trip) {
  if (!s.log.wanted()) {
    for (uint64_t k = 0; k < count; ++k) trip(k);
    return;
  }
  uint64_t before = ticks_now();
  for (uint64_t k = 0; k < count; ++k) {
    trip(k);
    const uint64_t now = ticks_now();
    s.log.note(now - before);
    before = now;
  }
}

/// Acknowledges `count` more of the other end's messages, by an active message to a handler.
void post_ack(side& s, uint64_t count);

/// The acknowledgements that the sending end has received in a round.
class ack_count {
 public:
  // A1: pairs with A2 in the acknowledgement's handler
  explicit ack_count(const side& s) : side_(s), base_(s.acked.load(std::memory_order_acquire)) {}
  uint64_t get() const { return side_.acked.load(std::memory_order_acquire) - base_; }  // A1: pairs with A2

 private:
  const side& side_;
  const uint64_t base_;
};

/// Sends the receiving end's acknowledgements of a round, one per batch.
class ack_giver {
 public:
  void give(side& s, const round_plan& plan, uint64_t taken) {
    if (taken - acked_ < plan.batch) return;
    const uint64_t n = (taken - acked_) / plan.batch * plan.batch;
    post_ack(s, n);
    acked_ += n;
  }

 private:
  uint64_t acked_ = 0;
};

/// Sends a round's messages with at most a window of them unacknowledged. `post(k)` sends message k. Makes progress
/// once per window and while the window is full.
template <class Post>
inline void stream(side& s, const round_plan& plan, Post post) {
  const ack_count acks(s);
  uint64_t sent = 0, acked = 0;
  while (sent < plan.count) {
    const uint64_t limit = acked + plan.window < plan.count ? acked + plan.window : plan.count;
    while (sent < limit) post(sent++);
    s.progress();
    acked = acks.get();
  }
  while (acks.get() < plan.count) s.progress();
  s.drain();
}

/// Takes and acknowledges a round's messages. Calls `took(n)` after each n of them.
template <comp_kind C, class Took>
inline void take_stream(side& s, const round_plan& plan, payload_kind payload, Took took) {
  inbox<C> box(s, plan, payload);
  ack_giver acks;
  uint64_t taken = 0;
  while (taken < plan.count) {
    s.progress();
    const uint64_t n = box.take();
    taken += n;
    took(n);
    acks.give(s, plan, taken);
  }
  s.drain();
}

/// The functions of P<C>, for the completion kind `comp`: static functions of that struct.
template <template <comp_kind> class P>
benchmark by_comp(comp_kind comp) {
  const auto parts = [](auto p) {
    using part = decltype(p);
    return benchmark{part::prepare, part::receive, part::send};
  };
  switch (comp) {
    case comp_kind::handler:
      return parts(P<comp_kind::handler>());
    case comp_kind::cq:
      return parts(P<comp_kind::cq>());
    case comp_kind::sync:
      return parts(P<comp_kind::sync>());
    default:
      return parts(P<comp_kind::counter>());
  }
}

/// The same for structs with one template per operation: `P<Op>::by<C>`.
template <template <op_kind> class P>
benchmark by_op_and_comp(op_kind op, comp_kind comp) {
  switch (op) {
    case op_kind::am:
      return by_comp<P<op_kind::am>::template by>(comp);
    case op_kind::orderedam:
      return by_comp<P<op_kind::orderedam>::template by>(comp);
    case op_kind::putsignal:
      return by_comp<P<op_kind::putsignal>::template by>(comp);
    default:
      return by_comp<P<op_kind::getsignal>::template by>(comp);
  }
}

}  // namespace lci_perf
