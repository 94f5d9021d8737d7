// Posting active messages in a stream. Each gets a sequence number here, by which the target restores the order
// (stream_order.cpp). A window of messages and bytes bounds what the target has to buffer.
#include <cstring>
#include <mutex>
#include <utility>

#include "lib/base/check.hpp"
#include "lib/core/device/gates.hpp"
#include "lib/core/device/in_progress.hpp"
#include "lib/core/device/sending.hpp"
#include "lib/core/post/post_common.hpp"
#include "lib/core/post/post_message.hpp"
#include "lib/core/stream/stream.hpp"

namespace lci::core {

namespace {

/// Numbers the message and sends it; or holds it, in `place`, until the window has room. Does not throw, since its
/// operation is outstanding.
void send_in_turn(device& d, outgoing_stream& out, backlog::item item, wire::header head, size_t size,
                  outgoing_stream::held_list& place) {
  {
    std::lock_guard guard(out.lock);
    out.catch_up();
    head.tag = wire::pack_number(out.next++, head.tag);
    std::memcpy(item.message.data(), &head, sizeof head);
    if (!out.has_room()) {
      note_waiting(d, item);
      return out.hold(d, std::move(item), size, place);
    }
    out.ask_credit(item.message, size);
    out.release(size);
  }
  submit_or_enqueue(d, std::move(item));
}

status_t post_eager(device& d, post_am_args& a, outgoing_stream& out, wire::header head) {
  errorcode_t result = errorcode_t::retry_backlog;
  if (!may_retry(a)) await_room(d, a);
  {
    std::lock_guard guard(out.lock);
    out.catch_up();
    const bool room = out.has_room();
    head.tag = wire::pack_number(out.next, a.tag);
    const bool asks = room && out.asks_credit(a.size);
    if (asks) head.policy |= wire::asks_credit;
    if (room) result = try_eager(d, a, head);
    if (result == errorcode_t::fatal) throw_peer_failure(d, a.rank);
    const bool waits = result != errorcode_t::done;
    if (waits && may_retry(a)) return result;
    if (waits) {
      // If this throws std::bad_alloc, no number has been used: the target would wait for it for ever.
      backlog::item item = copy_of(a, head);
      note_waiting(d, item);
      if (room) {
        d.backlog.push(std::move(item));
      } else {
        outgoing_stream::held_list place(1);
        out.hold(d, std::move(item), a.size, place);
      }
    }
    ++out.next;
    if (room) out.release(a.size, asks);
  }
  if (result == errorcode_t::done) return answer_done(d, a, buffer_of(a));
  give_back_packet(a);
  return answer_done(d, a, buffer_of(a), errorcode_t::done_backlog);
}

/// Returns whether the message is sent without a handshake. One with a layout is not: were it short, with
/// comp_semantic_t::memory, it would have been packed.
bool goes_whole(device& d, const post_am_args& a, bool acked) { return !has_layout(a.layout) && is_eager(d, a, acked); }

/// Posts a message that completes later: one by rendezvous, or one that the target acknowledges.
status_t post_tracked(device& d, post_am_args& a, outgoing_stream& out, wire::header head, bool acked) {
  const bool retry_allowed = may_retry(a);
  if (!retry_allowed) {
    await_room(d, a);
  } else {
    std::lock_guard guard(out.lock);
    out.catch_up();
    if (!out.has_room() || d.backlog.holds_back(a.rank)) return errorcode_t::retry_backlog;
  }
  blocking_guard wait("post_am", d, a);
  // Allocates all memory before the operation and the sequence number, which would have to be undone.
  const bool whole = goes_whole(d, a, acked);
  backlog::item item;
  if (whole) {
    item = room_for(a, sizeof(wire::framed<wire::ack_body>));
  } else {
    item.peer = a.rank;
    item.message.resize(sizeof(wire::framed<wire::rts_body>));
  }
  outgoing_stream::held_list place(1);
  operation* op = make_operation(d, a);
  if (LCI_UNLIKELY(op == nullptr)) return too_many_operations(retry_allowed);
  if (whole) {
    head.policy = wire::ack_follows;
    item.awaited = awaits_acks;
    fill(item, a, wire::framed<wire::ack_body>{head, expect_ack(d, op, a)});
    give_back_packet(a);
  } else {
    head.what = wire::kind::rts_ordered;
    item.awaited = awaits_receiver;
    const wire::framed<wire::rts_body> rts{head, expect_receiver(d, op, a, acked)};
    std::memcpy(item.message.data(), &rts, sizeof rts);
  }
  item.handle = op->handle();
  d.count_in(op);
  {
    const inside_post mark(d);
    open_gate(d, op, item.awaited);
    // From here on the message will be sent, even if the window has filled up meanwhile, and its answer
    // may end the operation at any time.
    send_in_turn(d, out, std::move(item), head, a.size, place);
  }
  return wait.result(errorcode_t::posted);
}

network::message_head stream_head(const stream& s, detail::delivery_terms terms, uint8_t policy, uint32_t number) {
  return wire::pack(wire::kind::am_ordered, policy, s.id, terms.comp, wire::pack_number(number, terms.tag));
}

/// inject_in_stream() of a message that may have to ask for credit or to wait. Under the lock of `out`. It finds `out`
/// again, so that all arguments are in registers.
LCI_NOINLINE errorcode_t inject_by_credit(device* d, const stream* s, int rank, detail::delivery_terms terms,
                                          const void* buffer, size_t size) {
  outgoing_stream& out = *s->to(rank);
  out.catch_up();
  if (LCI_UNLIKELY(!out.has_room())) return errorcode_t::retry_backlog;
  const bool asks = out.asks_credit(size);
  const errorcode_t result =
      d->inject(rank, stream_head(*s, terms, asks ? wire::asks_credit : uint8_t{0}, out.next), buffer, size);
  if (LCI_UNLIKELY(result != errorcode_t::done)) return result;
  ++out.next;
  out.release(size, asks);
  out.grant();
  return result;
}

}  // namespace

status_t post_in_stream(post_am_args& a) {
  device& d = *a.device.p_impl;
  const stream& s = *a.stream.p_impl;
  if (s.runtime.p_impl != &d.rt)
    throw_invalid("post_am", "stream", "one of another runtime", "one of the device's runtime");
  check_packet("post_am", a);
  outgoing_stream& out = d.rt.streams.outgoing(s, a.rank);
  wire::header head;
  head.what = wire::kind::am_ordered;
  head.engine = s.id;
  head.word = a.remote_comp;
  head.tag = a.tag;
  // If the network can't report at once that it has taken the message, the target acknowledges it.
  const bool acked = a.comp_semantic != comp_semantic_t::memory && !ends_with_copy(d, a);
  if (!acked && goes_whole(d, a, false)) return post_eager(d, a, out, head);
  return post_tracked(d, a, out, head, acked);
}

}  // namespace lci::core

namespace lci::detail {

// In all rare cases it returns a retry: the general path then checks again, creates the peer's state, makes the errors.
errorcode_t inject_in_stream(core::device* d, const core::stream* s, int rank, delivery_terms terms, const void* buffer,
                             size_t size) {
  using namespace core;
  if (LCI_UNLIKELY(s->runtime.p_impl != &d->rt)) return errorcode_t::retry;
  outgoing_stream* const out = s->to(rank);
  if (LCI_UNLIKELY(out == nullptr)) return errorcode_t::retry;
  const std::lock_guard guard(out->lock);
  if (LCI_UNLIKELY(!out->is_easy(size) || out->has_begun_anew()))
    return inject_by_credit(d, s, rank, terms, buffer, size);
  const errorcode_t result = d->inject(rank, stream_head(*s, terms, 0, out->next), buffer, size);
  if (LCI_LIKELY(result == errorcode_t::done)) out->release_easy(size);
  return result;
}

}  // namespace lci::detail
