// Posting sends and active messages. Each checks its arguments, takes the protocol that fits the
// size, and hands the message to the fabric. What can't go now is a `retry`, or waits in the backlog
// if the caller forbids that.
#include <cstring>

#include "lib/core/observe_post.hpp"
#include "lib/core/post_common.hpp"
#include "lib/core/post_layout.hpp"

namespace lci::core {

namespace {

/// Whether the sender is told by the target that the message was delivered.
template <class Args>
bool wants_ack(const Args& a) {
  return a.comp_semantic == comp_semantic_t::remote;
}

/// Whether the message goes without a handshake: then it must fit into a packet, if it needs one.
template <class Args>
bool is_eager(const device& d, const Args& a) {
  const size_t size = a.size + (wants_ack(a) ? sizeof(wire::ack_body) : 0);
  return size < d.inject_end ||
         (size <= d.eager_limit && size <= a.packet_pool.p_impl->payload_size());
}

/// A whole eager message, to be sent when it can be: the caller's buffer is free.
template <class Front, class Args>
backlog::item copy_of(const Args& a, const Front& front) {
  backlog::item item;
  item.peer = a.rank;
  item.message.resize(sizeof front + a.size);
  std::memcpy(item.message.data(), &front, sizeof front);
  if (a.size > 0) std::memcpy(item.message.data() + sizeof front, a.local_buffer, a.size);
  return item;
}

template <class Args>
void give_back_packet(const Args& a) {
  class packet_pool& pool = *a.packet_pool.p_impl;
  if (pool.owns(a.local_buffer)) pool.put(packet::of(buffer_of(a)));
}

/// An eager message whose sender wants to know when the network is through with it.
template <class Args>
status_t send_tracked(device& d, Args& a, const wire::header& head, const char* what) {
  const bool retry_allowed = may_retry(a);
  const bool at_once = d.backlog.empty();
  if (!at_once && retry_allowed) return errorcode_t::retry_backlog;
  blocking_guard wait(what, d, a);
  operation* op = make_operation(d, a);
  if (LCI_UNLIKELY(op == nullptr)) return too_many_operations(retry_allowed);
  op->become(op_state::send);
  op->pieces.store(1, std::memory_order_relaxed);
  d.count_in(op);
  backlog::item item = copy_of(a, head);
  item.completes = op;
  if (!at_once || !d.submit(item)) {
    if (retry_allowed) {
      d.forget(op);
      return errorcode_t::retry_nomem;
    }
    d.backlog.push(std::move(item));
  }
  give_back_packet(a);
  return wait.result(errorcode_t::posted);
}

/// An eager message whose sender wants to know when it has been delivered.
template <class Args>
status_t send_acked(device& d, Args& a, const wire::header& head, const char* what) {
  const bool retry_allowed = may_retry(a);
  const bool at_once = d.backlog.empty();
  if (!at_once && retry_allowed) return errorcode_t::retry_backlog;
  blocking_guard wait(what, d, a);
  operation* op = make_operation(d, a);
  if (LCI_UNLIKELY(op == nullptr)) return too_many_operations(retry_allowed);
  op->become(op_state::await_ack);
  op->acknowledged = true;
  op->left.store(1, std::memory_order_relaxed);
  wire::framed<wire::ack_body> front;
  front.head = head;
  front.head.what = head.what == wire::kind::am ? wire::kind::am_acked : wire::kind::send_acked;
  front.body.operation = op->handle() | wire::wants_ack;
  backlog::item item = copy_of(a, front);
  d.count_in(op);
  d.open(op, door_acks);
  // From here on the message will be sent: the ack may find us at any time.
  if (!at_once || !d.submit(item)) d.backlog.push(std::move(item));
  give_back_packet(a);
  return wait.result(errorcode_t::posted);
}

/// Eager protocols: injection, by packet, from a user's packet, by backlog.
template <class Args>
status_t send_eager(device& d, Args& a, const wire::header& head, const char* what) {
  if (wants_ack(a)) return send_acked(d, a, head, what);
  if (!ends_with_copy(d, a)) return send_tracked(d, a, head, what);
  class packet_pool& pool = *a.packet_pool.p_impl;
  const bool user_packet = pool.owns(a.local_buffer);
  errorcode_t result = errorcode_t::retry_backlog;
  if (d.backlog.empty()) {
    if (a.size < d.inject_end) {
      result = d.inject(a.rank, wire::pack(head), a.local_buffer, a.size);
      if (result == errorcode_t::done && user_packet)
        pool.put(packet::of(buffer_of(a)));
    } else {
      packet* p = user_packet ? packet::of(buffer_of(a)) : pool.get();
      if (p == nullptr) {
        result = errorcode_t::retry_nopacket;
      } else {
        p->head = head;
        if (!user_packet) std::memcpy(p->payload(), a.local_buffer, a.size);
        result = d.send_packet(a.rank, p, a.size);
        if (result != errorcode_t::done && !user_packet) pool.put(p);
      }
    }
  }
  if (result == errorcode_t::done) return answer_done(d, a, buffer_of(a));
  if (result == errorcode_t::fatal) throw_peer_failure(a.rank);
  if (may_retry(a)) return result;
  if (a.comp_semantic != comp_semantic_t::memory) return send_tracked(d, a, head, what);
  d.backlog.push(copy_of(a, head));
  give_back_packet(a);
  return answer_done(d, a, buffer_of(a), errorcode_t::done_backlog);
}

/// Rendezvous: tells the receiver; the rest is the progress engine's.
template <class Args>
status_t send_rendezvous(device& d, Args& a, wire::header head, const char* what) {
  const bool retry_allowed = may_retry(a);
  if (!d.backlog.empty() && retry_allowed) return errorcode_t::retry_backlog;
  blocking_guard wait(what, d, a);
  operation* op = make_operation(d, a);
  if (LCI_UNLIKELY(op == nullptr)) return too_many_operations(retry_allowed);
  op->become(op_state::await_receiver);
  op->acknowledged = wants_ack(a);
  op->left.store(1, std::memory_order_relaxed);
  op->total = a.size;
  op->next_offset = 0;
  if (a.packet_pool.p_impl->owns(a.local_buffer)) op->carrier = packet::of(buffer_of(a));
  if (d.limits.rma && op->reg.rkey == 0) register_buffer(d, op, a);
  wire::framed<wire::rts_body> rts;
  rts.head = head;
  rts.body = {a.size, reinterpret_cast<uint64_t>(a.local_buffer), op->reg.rkey,
              op->handle() | (wants_ack(a) ? wire::wants_ack : 0)};
  d.count_in(op);
  d.open(op, door_receiver);
  d.send_or_queue(a.rank, rts);
  return wait.result(errorcode_t::posted);
}

inline network::message_head head_of(const post_am_args& a) {
  return wire::pack(wire::kind::am, 0, 0, a.remote_comp, a.tag);
}

inline network::message_head head_of(const post_send_args& a) {
  return wire::pack(wire::kind::send, static_cast<uint8_t>(a.matching_policy),
                    a.matching_engine.p_impl->id, 0, a.tag);
}

LCI_NOINLINE status_t post_am_general(post_am_args& a) {
  device& d = *a.device.p_impl;
  check_common("post_am", d, a);
  if (a.remote_comp == 0)
    throw_invalid("post_am", "remote_comp", "0", "a handle that register_rcomp() gave the target");
  wire::header head = wire::unpack(head_of(a));
  if (is_eager(d, a)) return send_eager(d, a, head, "post_am");
  head.what = wire::kind::rts_am;
  return send_rendezvous(d, a, head, "post_am");
}

LCI_NOINLINE status_t post_send_general(post_send_args& a) {
  device& d = *a.device.p_impl;
  check_common("post_send", d, a);
  if (static_cast<unsigned>(a.matching_policy) >= static_cast<unsigned>(matching_policy_t::max))
    throw_invalid("post_send", "matching_policy",
                  std::to_string(static_cast<int>(a.matching_policy)),
                  "none, rank_only, tag_only or rank_tag");
  wire::header head = wire::unpack(head_of(a));
  if (is_eager(d, a)) return send_eager(d, a, head, "post_send");
  head.what = wire::kind::rts_send;
  return send_rendezvous(d, a, head, "post_send");
}

}  // namespace

status_t post_am(post_am_args& a) {
  device& d = *a.device.p_impl;
  if (LCI_LIKELY(goes_plain(d, a) && a.remote_comp != 0) &&
      LCI_LIKELY(d.inject(a.rank, head_of(a), a.local_buffer, a.size) == errorcode_t::done))
    return done_status(a, buffer_of(a));
  return post_observed(post_kind::am, a, post_am_general);
}

status_t post_send(post_send_args& a) {
  device& d = *a.device.p_impl;
  if (LCI_LIKELY(goes_plain(d, a) && a.matching_policy < matching_policy_t::max &&
                 a.layout == nullptr) &&
      LCI_LIKELY(d.inject(a.rank, head_of(a), a.local_buffer, a.size) == errorcode_t::done))
    return done_status(a, buffer_of(a));
  if (a.layout != nullptr) return post_send_layout(a);  // which posts a plain one
  return post_observed(post_kind::send, a, post_send_general);
}

}  // namespace lci::core
