// Posting sends and active messages. A post checks its arguments, chooses the protocol by size,
// and passes the message to the fabric. If that can't take it now, the post returns a retry or, where
// the caller forbids that, puts the message into the backlog.
#include <cstring>

#include "lib/core/device/back_pressure.hpp"
#include "lib/core/device/gates.hpp"
#include "lib/core/device/in_progress.hpp"
#include "lib/core/device/sending.hpp"
#include "lib/core/post/begin_post.hpp"
#include "lib/core/post/post_common.hpp"
#include "lib/core/post/post_layout.hpp"
#include "lib/core/post/post_message.hpp"
#include "lib/core/stream/stream.hpp"
#include "lib/core/transfer/transfers.hpp"

namespace lci::core {

namespace {

/// An eager message that completes locally when the network has finished with it.
template <class Args>
status_t send_tracked(device& d, Args& a, const wire::header& head, const char* what) {
  const bool retry_allowed = may_retry(a);
  if (!retry_allowed) await_room(d, a);
  const bool at_once = !d.backlog.holds_back(a.rank);
  if (!at_once && retry_allowed) return errorcode_t::retry_backlog;
  blocking_guard wait(what, d, a);
  backlog::item item = copy_of(a, head);
  operation* op = make_operation(d, a);
  if (LCI_UNLIKELY(op == nullptr)) return too_many_operations(retry_allowed);
  if (LCI_UNLIKELY(a.operation != nullptr)) name_operation(d, op, a).release(d);
  op->become(op_state::send);
  op->pieces.store(1, std::memory_order_relaxed);
  d.count_in(op);
  item.completes = op;
  {
    packet_return_at_end at_end(a);
    const inside_post mark(d);
    if (!at_once || !submit(d, item)) {
      if (retry_allowed) {
        at_end.cancel();
        forget_operation(d, op);
        return errorcode_t::retry_nomem;
      }
      enqueue(d, std::move(item));
    }
  }
  return wait.result(errorcode_t::posted);
}

/// An eager message that completes when the target acknowledges delivery.
template <class Args>
status_t send_acked(device& d, Args& a, const wire::header& head, const char* what) {
  const bool retry_allowed = may_retry(a);
  if (!retry_allowed) await_room(d, a);
  const bool at_once = !d.backlog.holds_back(a.rank);
  if (!at_once && retry_allowed) return errorcode_t::retry_backlog;
  blocking_guard wait(what, d, a);
  backlog::item item = room_for(a, sizeof(wire::framed<wire::ack_body>));
  operation* op = make_operation(d, a);
  if (LCI_UNLIKELY(op == nullptr)) return too_many_operations(retry_allowed);
  wire::framed<wire::ack_body> front{head, expect_ack(d, op, a)};
  front.head.what = head.what == wire::kind::am ? wire::kind::am_acked : wire::kind::send_acked;
  fill(item, a, front);
  item.handle = op->handle();
  item.awaited = awaits_acks;
  d.count_in(op);
  {
    const packet_return_at_end at_end(a);
    const inside_post mark(d);
    open_gate(d, op, awaits_acks);
    // From here on the message will be sent, and its ack may end the operation at any time.
    if (!at_once || !submit(d, item)) enqueue(d, std::move(item));
  }
  return wait.result(errorcode_t::posted);
}

/// Sends by an eager protocol, or through the backlog.
template <class Args>
status_t send_eager(device& d, Args& a, const wire::header& head, const char* what) {
  check_packet(what, a);
  if (wants_ack(a)) return send_acked(d, a, head, what);
  if (!ends_with_copy(d, a)) return send_tracked(d, a, head, what);
  const errorcode_t result = try_eager(d, a, head);
  if (result == errorcode_t::done) return answer_done(d, a, buffer_of(a));
  if (result == errorcode_t::fatal) throw_peer_failure(d, a.rank);
  if (may_retry(a)) return result;
  if (a.comp_semantic != comp_semantic_t::memory) return send_tracked(d, a, head, what);
  await_room(d, a);
  backlog::item item = copy_of(a, head);
  note_waiting(d, item);
  d.backlog.push(std::move(item));
  give_back_packet(a);
  return answer_done(d, a, buffer_of(a), errorcode_t::done_backlog);
}

/// Gives the ticket the withdrawal that a cancel sends. (Only for sends: an active message is matched on arrival.)
LCI_COLD void make_withdrawable(operation* op, const wire::framed<wire::rts_body>& rts) {
  if (rts.head.what != wire::kind::rts_send) return;
  wire::framed<wire::ack_body> withdrawal;
  withdrawal.head = rts.head;
  withdrawal.head.what = wire::kind::withdraw;
  withdrawal.body.operation = rts.body.operation;
  ticket_of(op).withdrawn_by(withdrawal);
}

/// Rendezvous: sends the RTS; progress does the rest.
template <class Args>
status_t send_rendezvous(device& d, Args& a, wire::header head, const char* what) {
  check_packet(what, a);
  const bool retry_allowed = may_retry(a);
  if (!retry_allowed) await_room(d, a);
  if (d.backlog.holds_back(a.rank) && retry_allowed) return errorcode_t::retry_backlog;
  blocking_guard wait(what, d, a);
  operation* op = make_operation(d, a);
  if (LCI_UNLIKELY(op == nullptr)) return too_many_operations(retry_allowed);
  wire::framed<wire::rts_body> rts;
  rts.head = head;
  rts.body = expect_receiver(d, op, a, wants_ack(a));
  if (LCI_UNLIKELY(op->named)) make_withdrawable(op, rts);
  d.count_in(op);
  {
    const inside_post mark(d);
    open_gate(d, op, awaits_receiver);
    send_request(d, a.rank, static_cast<uint32_t>(rts.body.operation), awaits_receiver, rts);
  }
  return wait.result(errorcode_t::posted);
}

inline network::message_head head_of(const post_am_args& a) {
  return wire::pack(wire::kind::am, 0, 0, a.remote_comp, a.tag);
}

inline network::message_head head_of(const post_send_args& a) {
  return wire::pack(wire::kind::send, static_cast<uint8_t>(a.matching_policy), a.matching_engine.p_impl->id, 0, a.tag);
}

void check_am(const device& d, const post_am_args& a) {
  check_common("post_am", d, a);
  if (a.remote_comp == 0)
    throw_invalid("post_am", "remote_comp", "0", "a handle that register_rcomp() gave the target");
}

status_t post_am_general(post_am_args& a) {
  device& d = *a.device.p_impl;
  check_am(d, a);
  if (!a.stream.is_empty()) return post_in_stream(a);
  wire::header head = wire::unpack(head_of(a));
  if (is_eager(d, a)) return send_eager(d, a, head, "post_am");
  head.what = wire::kind::rts_am;
  return send_rendezvous(d, a, head, "post_am");
}

void check_send(const device& d, const post_send_args& a) {
  check_common("post_send", d, a);
  if (LCI_UNLIKELY(!is_policy(a.matching_policy))) reject_policy("post_send", a.matching_policy);
}

/// Returns whether the target has paused this rank's sends, so that the post must return a retry. Where the caller
/// forbids that, waits for the end of the pause, except in handlers. Pauses are received by progress, so after
/// most_sends_in_a_row sends without progress it also returns true or makes progress.
bool is_to_pause(device& d, post_send_args& a) {
  if (LCI_UNLIKELY(++tls_sends_in_a_row > most_sends_in_a_row) && !tls_in_progress) {
    tls_sends_in_a_row = 0;
    if (may_retry(a)) return true;
    d.progress();
  }
  if (LCI_LIKELY(!d.sends_pause(a.rank))) return false;
  // Collective checks need no pause: their target has posted its receives, or will before it makes its own call.
  if (a.matching_engine.p_impl->id == wire::check_engine) return false;
  if (may_retry(a)) return true;
  if (!tls_in_progress) await_end_of_pause(d, a.rank, a.deadline);
  return false;
}

status_t post_send_general(post_send_args& a) {
  device& d = *a.device.p_impl;
  check_send(d, a);
  if (LCI_UNLIKELY(is_to_pause(d, a))) return errorcode_t::retry_nomem;
  wire::header head = wire::unpack(head_of(a));
  if (is_eager(d, a)) return send_eager(d, a, head, "post_send");
  head.what = wire::kind::rts_send;
  return send_rendezvous(d, a, head, "post_send");
}

LCI_COLD status_t post_am_in_pieces(post_am_args& a) {
  device& d = *a.device.p_impl;
  check_am(d, with_some_buffer(a));
  if (!a.stream.is_empty()) return post_in_stream(a);
  wire::header head = wire::unpack(head_of(a));
  head.what = wire::kind::rts_am;
  return send_rendezvous(d, a, head, "post_am");
}

LCI_COLD status_t post_send_in_pieces(post_send_args& a) {
  device& d = *a.device.p_impl;
  check_send(d, with_some_buffer(a));
  if (LCI_UNLIKELY(is_to_pause(d, a))) return errorcode_t::retry_nomem;
  wire::header head = wire::unpack(head_of(a));
  head.what = wire::kind::rts_send;
  return send_rendezvous(d, a, head, "post_send");
}

}  // namespace

status_t post_am(post_am_args& a) {
  if (LCI_UNLIKELY(has_layout(a.layout))) return post_am_layout(a);
  return begin_post(post_kind::am, a, post_am_general);
}

status_t post_send(post_send_args& a) {
  if (has_layout(a.layout)) return post_send_layout(a);
  return begin_post(post_kind::send, a, post_send_general);
}

status_t post_am_pieces(post_am_args& a) { return begin_post(post_kind::am, a, post_am_in_pieces); }

status_t post_send_pieces(post_send_args& a) { return begin_post(post_kind::send, a, post_send_in_pieces); }

}  // namespace lci::core

namespace lci::detail {

errorcode_t inject_am(core::device* d, int rank, rcomp_t comp, tag_t tag, const void* buffer, size_t size) {
  using namespace core;
  return d->inject(rank, wire::pack(wire::kind::am, 0, 0, comp, tag), buffer, size);
}

errorcode_t inject_send(core::device* d, int rank, uint32_t engine_and_policy, tag_t tag, const void* buffer,
                        size_t size) {
  using namespace core;
  // On `retry` the caller, a functor of the public headers, calls post_send(), where is_to_pause() resets the count.
  if (LCI_UNLIKELY(++tls_sends_in_a_row > most_sends_in_a_row)) return errorcode_t::retry;
  return d->inject(rank, wire::pack_send(engine_and_policy, tag), buffer, size);
}

}  // namespace lci::detail
