// Puts and gets: start, signals to the target, and emulation by messages for networks (or kernels) without remote
// access.
#include <algorithm>
#include <cstring>

#include "lib/base/copy_bytes.hpp"
#include "lib/base/race_detector.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/device/gates.hpp"
#include "lib/core/device/in_progress.hpp"
#include "lib/core/device/sending.hpp"
#include "lib/core/operation/ticket.hpp"
#include "lib/core/transfer/handlers.hpp"
#include "lib/core/transfer/transfers.hpp"

namespace lci::core {

namespace {

/// Sends a put of one message, or returns a retry. In the latter case no peer knows the operation, but the failure of
/// the target or the end of the device may have found it meanwhile: then it ends by that.
LCI_COLD errorcode_t send_in_turn(device& d, operation* op) {
  if (try_advance(d, op)) return errorcode_t::posted;
  if (!op->has_failed()) op->fail_as(failure::cancelled);
  const bool closed = op->gate.close();
  if (!op->gate.leave()) return errorcode_t::posted;
  if (!closed) {
    finish_transfer(d, op);
    return errorcode_t::posted;
  }
  op->fail_as(failure::none);
  return errorcode_t::retry_nomem;
}

}  // namespace

errorcode_t start_rma(device& d, operation* op, bool waits_for_turn, bool in_turn) {
  if (op->total == 0) return waits_for_turn ? errorcode_t::retry_backlog : errorcode_t::done;
  if (op->by_messages && op->doing() == op_state::get) {
    op->left.store(op->total, std::memory_order_relaxed);
    wire::framed<wire::get_body> request;
    request.head.what = wire::kind::get_request;
    request.head.tag = op->handle();
    request.body = {op->remote_addr, op->remote_key, op->total};
    const int peer = op->status.rank;
    if (op->named) ticket_of(op).release(d);  // receive_fragment() holds it for each fragment
    const inside_post mark(d);
    open_gate(d, op, awaits_fragments);
    send_request(d, peer, static_cast<uint32_t>(request.head.tag), awaits_fragments, request);
    return errorcode_t::posted;
  }
  if (op->by_messages) {
    op->left.store(pieces_of(d, op, op->total), std::memory_order_relaxed);
    const inside_post mark(d);
    open_gate(d, op, awaits_acks, true);
    if (LCI_UNLIKELY(in_turn)) return send_in_turn(d, op);
    waits_for_turn ? resume_later(d, op) : advance(d, op);
    return errorcode_t::posted;
  }
  if (LCI_UNLIKELY(waits_for_turn)) return errorcode_t::retry_backlog;
  op->pieces.store(1, std::memory_order_relaxed);
  if (op->total > largest_rma(d.limits, d.rt.attr.rdv_chunk_size, op->in_order)) {
    const inside_post mark(d);
    advance(d, op);
    return errorcode_t::posted;
  }
  // The common case, one piece: the count of 1 is that piece.
  op->next_offset = op->total;
  try {
    const errorcode_t result = post_piece(d, op, 0, op->total);
    if (error_t(result).is_retry()) op->next_offset = 0;
    return result;
  } catch (...) {
    forget_operation(d, op);
    throw;
  }
}

void send_signal(device& d, int peer, rcomp_t comp, tag_t tag, uint64_t address, uint64_t size) {
  const wire::signal_body body{address, size};
  const network::message_head head = wire::pack(wire::kind::signal, 0, 0, comp, tag);
  if (LCI_LIKELY(!d.backlog.holds_back(peer) && sizeof body < d.inject_end) &&
      LCI_LIKELY(d.inject(peer, head, &body, sizeof body) == errorcode_t::done))
    return;
  send_or_queue(d, peer, wire::framed<wire::signal_body>{wire::unpack(head), body});
}

bool receive_put(device& d, int peer, wire::message& m) {
  wire::put_body body;
  if (!wire::take_body(m, body)) return false;
  void* to = d.ranges.find(body.rkey, body.addr, m.size, true);
  if (to != nullptr) copy_bytes(to, m.data, m.size);
  leaves_process(&d.rt);  // for ThreadSanitizer: the origin sends its signal after this acknowledgement
  send_ack(d, peer, m.head.tag, to != nullptr ? 0 : wire::refused);
  return to != nullptr;
}

bool receive_get(device& d, int peer, wire::message& m) {
  wire::get_body body;
  if (!wire::take_body(m, body)) return false;
  void* from = d.ranges.find(body.rkey, body.addr, body.size, false);
  if (from == nullptr) return refuse(d, peer, m.head.tag);
  operation* op = d.rt.operations.allocate();
  if (op == nullptr) return refuse(d, peer, m.head.tag, wire::no_memory);
  op->belong_to(&d);
  op->become(op_state::writing);
  op->transfer = wire::transfer::copy;
  op->status.error = errorcode_t::done;
  op->status.rank = peer;
  op->status.buffer = from;
  op->status.size = op->total = body.size;
  op->next_offset = 0;
  op->peer_operation = static_cast<uint32_t>(m.head.tag);
  op->pieces.store(1, std::memory_order_relaxed);
  d.pending.fetch_add(1, std::memory_order_relaxed);
  advance(d, op);
  return true;
}

}  // namespace lci::core

void lci::detail::signal_put(core::device* d, int rank, rcomp_t comp, tag_t tag, uint64_t address, uint64_t size) {
  core::send_signal(*d, rank, comp, tag, address, size);
}
