// Puts and gets: start, signals to the target, and emulation by messages for networks (or kernels) without remote
// access.
#include <algorithm>
#include <cstring>

#include "lib/base/race_detector.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/memory/memory_region.hpp"
#include "lib/core/operation/make_status.hpp"
#include "lib/core/operation/ticket.hpp"

namespace lci::core {

errorcode_t device::start_rma(operation* op) {
  if (op->total == 0) return errorcode_t::done;
  if (!limits.rma && op->doing() == op_state::get) {
    op->left.store(op->total, std::memory_order_relaxed);
    wire::framed<wire::get_body> request;
    request.head.what = wire::kind::get_request;
    request.head.tag = op->handle();
    request.body = {op->remote_addr, op->remote_key, op->total};
    const int peer = op->status.rank;
    if (op->named) ticket_of(op).release(*this);  // receive_fragment() holds it for each fragment
    open(op, awaits_fragments);
    send_request(peer, static_cast<uint32_t>(request.head.tag), awaits_fragments, request);
    return errorcode_t::posted;
  }
  if (!limits.rma) {
    op->left.store(pieces_of(op->total), std::memory_order_relaxed);
    open(op, awaits_acks, true);
    advance(op);
    return errorcode_t::posted;
  }
  op->pieces.store(1, std::memory_order_relaxed);
  if (op->total > std::min<size_t>(rt.attr.rdv_chunk_size, limits.max_rma)) {
    advance(op);
    return errorcode_t::posted;
  }
  // The common case, one piece: the count of 1 is that piece.
  op->next_offset = op->total;
  const errorcode_t result = post_piece(op, 0, op->total);
  if (error_t(result).is_retry()) op->next_offset = 0;
  return result;
}

void device::send_signal(int peer, rcomp_t comp, tag_t tag, uint64_t address, uint64_t size) {
  const wire::signal_body body{address, size};
  const network::message_head head = wire::pack(wire::kind::signal, 0, 0, comp, tag);
  if (LCI_LIKELY(backlog.empty() && sizeof body < inject_end) &&
      LCI_LIKELY(inject(peer, head, &body, sizeof body) == errorcode_t::done))
    return;
  send_or_queue(peer, wire::framed<wire::signal_body>{wire::unpack(head), body});
}

bool device::receive_put(int peer, wire::message& m) {
  wire::put_body body;
  if (!wire::take_body(m, body)) return false;
  void* to = rt.check_region(body.rkey, body.addr, m.size);
  if (to != nullptr) std::memcpy(to, m.data, m.size);
  leaves_process(&rt);  // with the acknowledgement; the origin signals after the last one
  send_ack(peer, m.head.tag, to != nullptr ? 0 : wire::refused);
  return to != nullptr;
}

void device::send_ack(int peer, uint64_t operation, uint8_t policy) {
  wire::header ack;
  ack.what = wire::kind::ack;
  ack.policy = policy;
  ack.tag = operation;
  send_or_queue(peer, ack);
}

bool device::receive_ack(int peer, const wire::message& m) {
  const uint8_t policy = m.head.policy;
  const auto count = [policy](operation* op, uint8_t kind) {
    // A receiver that reads sends no RTR or FIN, only the ack, and only if the operation asked for one.
    if (kind == awaits_receiver && !op->acknowledged) return false;
    if (policy != 0) op->fail_as(failure_said_by(policy));  // before the last ack is counted
    const uint64_t left = op->take_from_left(1);
    if (left == 1) (void)op->gate.close();
    return left != 0;
  };
  return visit(static_cast<uint32_t>(m.head.tag), awaits_acks | awaits_receiver, peer, count);
}

bool device::receive_get(int peer, wire::message& m) {
  wire::get_body body;
  if (!wire::take_body(m, body)) return false;
  void* from = rt.check_region(body.rkey, body.addr, body.size);
  if (from == nullptr) return refuse(peer, m.head.tag);
  operation* op = rt.operations.allocate();
  if (op == nullptr) return refuse(peer, m.head.tag, wire::no_memory);
  op->belong_to(this);
  op->become(op_state::writing);
  op->transfer = wire::transfer::copy;
  op->status.error = errorcode_t::done;
  op->status.rank = peer;
  op->status.buffer = from;
  op->status.size = op->total = body.size;
  op->next_offset = 0;
  op->peer_operation = static_cast<uint32_t>(m.head.tag);
  op->pieces.store(1, std::memory_order_relaxed);
  pending.fetch_add(1, std::memory_order_relaxed);
  advance(op);
  return true;
}

}  // namespace lci::core

void lci::detail::signal_put(core::device* d, int rank, rcomp_t comp, tag_t tag, uint64_t address,
                             uint64_t size) {
  d->send_signal(rank, comp, tag, address, size);
}
