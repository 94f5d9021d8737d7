// What the posts of sends and active messages (also those of streams) share: copies into the backlog, eager messages,
// requests to send (RTS).
#pragma once

#include <cstring>

#include "lib/base/copy_bytes.hpp"
#include "lib/core/device/sending.hpp"
#include "lib/core/post/post_common.hpp"
#include "lib/core/post/post_layout.hpp"

namespace lci::core {

/// Returns whether the target acknowledges delivery.
template <class Args>
bool wants_ack(const Args& a) {
  return a.comp_semantic == comp_semantic_t::remote;
}

/// Returns whether to send the message eagerly, that is, without a handshake. It is sent so if it fits into a packet. A
/// larger one can be eager if the network can inject it; if protocol_table measures messages of this size, it decides.
/// A message with comp_semantic_t::network can be injected only if the network's sends arrive at once; otherwise it
/// needs a packet, whose completion the network reports.
template <class Args>
bool is_eager(device& d, const Args& a, bool acked) {
  const size_t size = a.size + (acked ? sizeof(wire::ack_body) : 0);
  const bool can_inject = acked || ends_with_copy(d, a);
  const bool is_injected = can_inject && size < d.inject_end;
  if (size <= d.eager_limit) return is_injected || size <= a.packet_pool.p_impl->payload_size();
  if (can_inject && !acked && d.protocols.covers(size)) return d.protocols.is_eager(*d.net, a.rank, size);
  return is_injected;
}
template <class Args>
bool is_eager(device& d, const Args& a) {
  return is_eager(d, a, wants_ack(a));
}

/// Allocates a backlog item for this post's message, with `front` bytes before the payload. Posts call it before they
/// allocate an operation, so that a failure leaves nothing to undo.
template <class Args>
backlog::item room_for(const Args& a, size_t front) {
  backlog::item item;
  item.peer = a.rank;
  item.message.resize(front + a.size);
  return item;
}
/// Copies the header, or what else `front` is, and the payload into the item.
template <class Front, class Args>
void fill(backlog::item& item, const Args& a, const Front& front) {
  std::memcpy(item.message.data(), &front, sizeof front);
  if (a.size > 0) std::memcpy(item.message.data() + sizeof front, a.local_buffer, a.size);
}
/// A backlog item with a copy of the whole eager message: the caller's buffer can be reused.
template <class Front, class Args>
backlog::item copy_of(const Args& a, const Front& front) {
  backlog::item item = room_for(a, sizeof front);
  fill(item, a, front);
  return item;
}

/// A user's packet is sent without a copy, so the message must fit into it.
LCI_COLD inline void reject_packet(const char* what, size_t size, const packet_pool& pool) {
  throw_invalid(what, "size", std::to_string(size),
                "at most " + std::to_string(pool.payload_size()) + " for a message in a packet",
                "get_max_bcopy_size() says how much a packet holds");
}
template <class Args>
void check_packet(const char* what, const Args& a) {
  const class packet_pool& pool = *a.packet_pool.p_impl;
  if (LCI_UNLIKELY(a.size > pool.payload_size()) && pool.owns(a.local_buffer)) reject_packet(what, a.size, pool);
}

/// Returns the user's packet to its pool, if the buffer is one.
template <class Args>
void give_back_packet(const Args& a) {
  class packet_pool& pool = *a.packet_pool.p_impl;
  if (pool.owns(a.local_buffer)) pool.put(packet::of(buffer_of(a)));
}

/// Returns the user's packet to its pool when the post ends, unless the post is refused. It does so also if a handler
/// that the post has called throws, as the message has been sent all the same.
template <class Args>
class packet_return_at_end {
 public:
  explicit packet_return_at_end(const Args& a) : args_(&a) {}
  ~packet_return_at_end() {
    if (args_ != nullptr) give_back_packet(*args_);
  }
  packet_return_at_end(const packet_return_at_end&) = delete;
  packet_return_at_end& operator=(const packet_return_at_end&) = delete;
  /// The post is refused: the packet remains the user's.
  void cancel() { args_ = nullptr; }

 private:
  const Args* args_;
};

/// Eager protocols: injection, copy into a packet, or a user's packet. Returns a retry if the message can't be sent
/// now.
template <class Args>
errorcode_t try_eager(device& d, const Args& a, const wire::header& head) {
  class packet_pool& pool = *a.packet_pool.p_impl;
  const bool user_packet = pool.owns(a.local_buffer);
  if (d.backlog.holds_back(a.rank)) return errorcode_t::retry_backlog;
  errorcode_t result;
  if (a.size < d.inject_end || a.size > d.eager_limit) {
    result = d.inject(a.rank, wire::pack(head), a.local_buffer, a.size);
    if (result == errorcode_t::done && d.protocols.covers(a.size)) d.protocols.sent_eager(a.rank, a.size);
    if (result == errorcode_t::done && user_packet) pool.put(packet::of(buffer_of(a)));
  } else {
    packet* p = user_packet ? packet::of(buffer_of(a)) : pool.get();
    if (p == nullptr) {
      if (LCI_UNLIKELY(pool.is_hollow())) throw_no_pool(a.size);
      return errorcode_t::retry_nopacket;
    }
    struct taken_packet {  // returned also if send_packet() throws
      packet* to_return;
      ~taken_packet() {
        if (to_return != nullptr) to_return->pool->put(to_return);
      }
    } taken{user_packet ? nullptr : p};
    p->head = head;
    if (!user_packet) copy_bytes(p->payload(), a.local_buffer, a.size);
    result = send_packet(d, a.rank, p, a.size);
    if (result == errorcode_t::done) taken.to_return = nullptr;
  }
  return result;
}

/// Names the operation of an RTS, so that its sender can cancel it. The RTS then has no remote key: the receiver can't
/// read the sender's memory, but must answer with an RTR, after which the sender can refuse to transfer.
template <class Args>
LCI_COLD void name_request(device& d, operation* op, const Args& a, wire::rts_body& rts) {
  ticket& t = name_operation(d, op, a);
  rts.rkey = 0;
  rts.operation |= t.wire_word();
  t.release(d);
}

/// Makes the operation await the target's acknowledgement of an eager message.
template <class Args>
wire::ack_body expect_ack(device& d, operation* op, const Args& a) {
  if (LCI_UNLIKELY(a.operation != nullptr)) name_operation(d, op, a).release(d);
  op->become(op_state::await_ack);
  op->acknowledged = true;
  op->left.store(1, std::memory_order_relaxed);
  return {op->handle() | wire::wants_ack};
}

/// Makes the operation await the answer to its RTS.
template <class Args>
wire::rts_body expect_receiver(device& d, operation* op, const Args& a, bool acked) {
  op->become(op_state::await_receiver);
  op->acknowledged = acked;
  op->left.store(1, std::memory_order_relaxed);
  op->total = a.size;
  op->next_offset = 0;
  if constexpr (requires { a.layout; })
    if (LCI_UNLIKELY(has_layout(a.layout))) give_shape(d.rt.operations, op, *a.layout);
  if (!op->shaped && a.packet_pool.p_impl->owns(a.local_buffer)) op->carry(packet::of(buffer_of(a)));
  if (d.limits.rma && op->reg.rkey == 0 && !op->shaped) register_buffer(d, op, a);
  wire::rts_body rts{a.size, reinterpret_cast<uint64_t>(a.local_buffer), op->shaped ? 0 : op->reg.rkey,
                     op->handle() | (acked ? wire::wants_ack : 0)};
  if (LCI_UNLIKELY(a.operation != nullptr)) name_request(d, op, a, rts);
  op->timed = !op->shaped && d.protocols.covers(a.size) && d.protocols.begins_rendezvous(a.rank, a.size);
  return rts;
}

}  // namespace lci::core
