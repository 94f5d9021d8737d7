// The kinds of benchmark: one file each (message_latency.cpp, sendrecv_stream.cpp, ...).
#pragma once

#include "bench/lci_perf/posts.hpp"

namespace lci_perf {

/// The three parts of a round, each run by every thread of its role at the same time.
struct benchmark {
  void (*prepare)(seat&, const job&);  ///< receiver, before the clock starts
  void (*receive)(seat&, const job&, payload_kind);
  void (*send)(seat&, const job&, payload_kind);  ///< sender; the clock runs while it does
};

// What a message is: see post_message().
benchmark message_latency(op_kind op, comp_kind comp);
benchmark message_stream(op_kind op, comp_kind comp);
benchmark message_duplex(op_kind op, comp_kind comp);
benchmark sendrecv_latency(comp_kind comp);
benchmark sendrecv_stream(comp_kind comp);
benchmark sendrecv_duplex(comp_kind comp);

// Not measured: both ends look whether what is sent arrives, once and as it was.
benchmark message_checked(op_kind op, comp_kind comp);
benchmark sendrecv_checked(comp_kind comp);

/// Makes `count` round trips. Each is timed if the seat's log wants that.
template <class Trip>
inline void round_trips(seat& s, uint64_t count, Trip trip) {
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

/// Tells the other end that `count` more of its messages have been taken. An active message to a
/// handler.
void post_ack(seat& s, uint64_t count);

/// The acknowledgements of one round that the sending end gets.
class ack_count {
 public:
  // A1: pairs with A2 in the acknowledgement's handler
  explicit ack_count(const seat& s) : seat_(s), base_(s.acked.load(std::memory_order_acquire)) {}
  uint64_t get() const {
    return seat_.acked.load(std::memory_order_acquire) - base_;
  }  // A1: pairs with A2

 private:
  const seat& seat_;
  const uint64_t base_;
};

/// The acknowledgements of one round that the receiving end gives, a batch at a time.
class ack_giver {
 public:
  void give(seat& s, const job& j, uint64_t taken) {
    if (taken - acked_ < j.batch) return;
    const uint64_t n = (taken - acked_) / j.batch * j.batch;
    post_ack(s, n);
    acked_ += n;
  }

 private:
  uint64_t acked_ = 0;
};

/// Sends round's messages while no more than a window of them is unacknowledged. `post(k)` sends
/// message k. Progress is made once a batch, and while there is nothing to send.
template <class Post>
inline void stream(seat& s, const job& j, Post post) {
  const ack_count acks(s);
  uint64_t sent = 0, acked = 0;
  while (sent < j.count) {
    const uint64_t limit = acked + j.window < j.count ? acked + j.window : j.count;
    while (sent < limit) post(sent++);
    s.progress();
    acked = acks.get();
  }
  while (acks.get() < j.count) s.progress();
  s.drain();
}

/// Takes a round's messages and acknowledges them. `took(n)` follows each n of them.
template <comp_kind C, class Took>
inline void take_stream(seat& s, const job& j, payload_kind payload, Took took) {
  inbox<C> box(s, j, payload);
  ack_giver acks;
  uint64_t taken = 0;
  while (taken < j.count) {
    s.progress();
    const uint64_t n = box.take();
    taken += n;
    took(n);
    acks.give(s, j, taken);
  }
  s.drain();
}

/// The parts P<..., C> for the completion that was asked for: static functions of that struct.
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

/// The same for parts that are made for one operation each: `P<Op>::by<C>`.
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
