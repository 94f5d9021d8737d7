// Rendezvous: messages too large for an eager protocol begin with a handshake. The receiver chooses how the data moves:
// it reads the sender's memory, or answers with an RTR, upon which the sender writes to the receiver's buffer (and
// sends a FIN or an immediate) or, for one without remote access, sends fragments that the receiver copies.
#include <algorithm>
#include <new>

#include "lib/base/check.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/device/device_visit.hpp"
#include "lib/core/device/gates.hpp"
#include "lib/core/device/internal_ids.hpp"
#include "lib/core/device/receive.hpp"
#include "lib/core/device/sending.hpp"
#include "lib/core/device/unexpected_messages.hpp"
#include "lib/core/match/unexpected.hpp"
#include "lib/core/operation/ticket.hpp"
#include "lib/core/transfer/choice.hpp"
#include "lib/core/transfer/handlers.hpp"
#include "lib/core/transfer/transfers.hpp"

namespace lci::core {

// --- the receiver: RTS ---

namespace {

uint64_t key_of(const matching_engine& engine, int peer, const wire::header& head) {
  return engine.make_key(peer, wire::tag_of(head), static_cast<matching_policy_t>(head.policy));
}

/// Stores an RTS for a receive that is posted later; if one has been posted meanwhile, sets `match` to it instead.
/// `engine`: null if this rank does not have it yet. Returns false if there is no memory.
bool store_rts(device& d, matching_engine* engine, const wire::header& head, const unexpected& content, void*& match) {
  unexpected* const u = allocate_unexpected(0);
  if (LCI_UNLIKELY(u == nullptr)) return false;
  *u = content;
  d.flow.count(u->peer, u->memory());
  if (LCI_UNLIKELY(engine == nullptr)) {
    const early stored = store_early(d, head, u, engine);
    if (stored != early::allocated) return stored != early::no_memory;
  }
  if (LCI_UNLIKELY(!file_unexpected(d, *engine, key_of(*engine, u->peer, head), u, match))) return false;
  if (match != nullptr) free_unexpected(&d, u);
  return true;
}

}  // namespace

bool receive_rts(device& d, int peer, wire::message& m) {
  wire::rts_body body;
  if (!wire::take_body(m, body)) return false;
  if (m.head.what == wire::kind::rts_am) return take_large_am(d, {peer, wire::tag_of(m.head), m.head.word, body});
  matching_engine* engine = d.rt.engines.get(m.head.engine);
  if (engine == nullptr) engine = unlisted_engine(d, m.head.engine);
  if (engine == nullptr && !engine_table::is_number(m.head.engine)) return refuse(d, peer, body.operation);
  const tag_t tag = wire::tag_of(m.head);
  // This device or the sender's is being freed: a receive that matches the message ends as `cancelled`.
  const bool late = d.lifetime.closing() || (LCI_UNLIKELY(d.failures.may_be_any()) && d.failures.is_closing(peer));
  // A message that matches a posted receive needs no memory here.
  void* match = nullptr;
  if (LCI_LIKELY(engine != nullptr)) match = engine->take(key_of(*engine, peer, m.head), matching_entry_type_t::recv);
  if (match == nullptr &&
      LCI_UNLIKELY(!store_rts(d, engine, m.head, {peer, tag, body.size, true, late, d.attr.uid, body}, match))) {
    count_undelivered(d, peer, body.size);
    (void)refuse(d, peer, body.operation, wire::no_memory);
    return true;
  }
  if (LCI_UNLIKELY(late)) {
    (void)refuse(d, peer, body.operation, wire::cancelled);
    if (match != nullptr) cancel_receive(d, static_cast<operation*>(match), peer, tag);
    return true;
  }
  if (match != nullptr) start_receive(d, static_cast<operation*>(match), peer, tag, body);
  return true;
}

namespace {

/// Registers the operation's buffer. Returns false if the network has no resources, or the process no memory, for that.
bool try_register(device& d, operation* op) {
  try {
    op->reg = d.registrations.acquire(op->status.buffer, op->total);
    return op->registered = true;
  } catch (const resource_error&) {
  } catch (const std::bad_alloc&) {
  }
  return false;
}

/// The message becomes that of the receive: sets what its status will say, and what is to be moved.
void take_message(device& d, operation* op, int peer, tag_t tag, const wire::rts_body& rts) {
  const size_t capacity = op->status.size;
  if (op->owner() != &d) op->reg = {};  // the user registered the buffer with another device
  op->belong_to(&d);
  op->status.rank = peer;
  op->status.tag = tag;
  op->status.size = std::min<size_t>(capacity, rts.size);
  op->status.error = rts.size > capacity ? errorcode_t::done_truncated : errorcode_t::done;
  op->peer_operation = static_cast<uint32_t>(rts.operation);
  op->acknowledges = (rts.operation & wire::wants_ack) != 0;
  op->total = op->status.size;
  op->next_offset = 0;
  d.pending.fetch_add(1, std::memory_order_relaxed);
}

/// Sets where this process reads the data, or its part of them, from. The count of pieces begins with one for the
/// thread that posts them.
void read_from(operation* op, const wire::rts_body& rts) {
  op->remote_addr = rts.addr;
  op->remote_key = rts.rkey;
  op->pieces.store(1, std::memory_order_relaxed);
}

wire::transfer transfer_of(choice how) {
  switch (how) {
    case choice::write:
      return wire::transfer::write;
    case choice::write_imm:
      return wire::transfer::write_imm;
    case choice::split:
      return wire::transfer::split;
    default:
      return wire::transfer::copy;
  }
}

/// Answers the RTS with an RTR: the sender is to move the data or, of a split message, its part of them.
void request_data(device& d, operation* op, choice how, const wire::rts_body& rts) {
  const bool splits = how == choice::split;
  const int peer = op->status.rank;
  op->become(splits ? op_state::splitting : op_state::await_data);
  op->left.store(op->total, std::memory_order_relaxed);
  op->transfer = transfer_of(how);
  if (LCI_UNLIKELY(d.observer != nullptr) && d.observer->counts != nullptr && how == choice::copy)
    d.observer->counts->add(counted::rendezvous_in_fragments, peer, op->total);
  wire::framed<wire::rtr_body> rtr;
  rtr.head.what = wire::kind::rtr;
  rtr.head.policy = static_cast<uint8_t>(op->transfer);
  rtr.head.tag = rts.operation;
  rtr.body = {op->total, reinterpret_cast<uint64_t>(op->status.buffer), op->reg.rkey, op->handle()};
  if (splits) {
    rtr.body.size = op->next_offset = senders_part(op->total);
    op->acknowledges = true;  // when this thread has read its part, too: until then the sender keeps its buffer
    read_from(op, rts);
  }
  if (LCI_UNLIKELY(op->named) && how == choice::copy) ticket_of(op).release(d);  // each fragment holds it
  open_gate(d, op, awaits_data, splits);
  send_request(d, peer, static_cast<uint32_t>(rtr.body.operation), awaits_data, rtr);
  if (splits) advance(d, op);  // this thread stays an accessor until its part is read
}

}  // namespace

void start_receive(device& d, operation* op, int peer, tag_t tag, const wire::rts_body& rts) {
  const bool lacks_memory = LCI_UNLIKELY(op->allocates) && rts.size > 0 && !allocate_buffer(d, op, peer, rts);
  take_message(d, op, peer, tag, rts);
  if (LCI_UNLIKELY(lacks_memory)) {
    if (!op->acknowledges) (void)refuse(d, peer, rts.operation, wire::no_memory);
    op->fail_as(failure::no_memory);
    return fail_operation(d, op);
  }
  // A receive may match an RTS whose sender has failed since: there is no peer to answer.
  if (LCI_UNLIKELY(d.failures.may_be_any()) && d.failures.has_failed(peer)) return fail_operation(d, op);

  choice how = choose_transfer(d, op, rts.rkey != 0);
  if (how != choice::copy && op->reg.rkey == 0 && op->total > 0 && !try_register(d, op))
    how = choice::copy;  // needs no registration
  if (how != choice::read && op->total > 0) return request_data(d, op, how, rts);
  op->become(op_state::reading);  // of 0 bytes nothing is read: the sender only gets its FIN
  read_from(op, rts);
  advance(d, op);
}

// --- the sender: RTR ---

namespace {

/// Returns whether a message has a deadline, and the network can't end a put of its data without the receiver.
LCI_COLD bool ends_in_time_by_messages(const device& d, const operation* op) {
  return d.net->rma_waits_for(op->status.rank) && ticket_of(op).has_deadline();
}

}  // namespace

bool receive_rtr(device& d, int peer, wire::message& m) {
  wire::rtr_body body;
  if (!wire::take_body(m, body) || m.head.policy > static_cast<uint8_t>(wire::transfer::last)) return false;
  const uint8_t awaited = awaits_receiver | awaits_acks;
  return visit_operation(d, static_cast<uint32_t>(m.head.tag), awaited, peer, [&](operation* op, uint8_t kind) {
    if (LCI_UNLIKELY(kind == awaits_acks)) return take_request_for_rest(op, m.head, body);
    if (body.size > op->total) return false;
    const bool splits = m.head.policy == static_cast<uint8_t>(wire::transfer::split);
    if (splits && op->named) return false;  // its RTS has no key
    const bool stops = LCI_UNLIKELY(d.lifetime.closing()) || (LCI_UNLIKELY(op->named) && !ticket_of(op).hold());
    if (stops) op->fail_as(failure::cancelled);
    if (stops && !splits) {
      // A receiver that was asked for an ack answers the FIN with one, and that ends the operation.
      if (!op->acknowledged && !op->gate.close()) return false;
      send_fin(d, peer, body.operation, wire::cancelled);
      return true;
    }
    if (!op->gate.close()) return false;
    op->become(op_state::writing);
    op->transfer = static_cast<wire::transfer>(m.head.policy);
    if (splits) {
      op->acknowledged = op->split = true;  // the receiver still reads when this side has written, or does not write
      if (!stops) op->transfer = wire::transfer::write_imm;
    }
    // The receiver may have chosen a transfer that this side can't do.
    if (!stops && (!d.limits.rma || op->shaped || LCI_UNLIKELY(op->named && ends_in_time_by_messages(d, op))))
      op->transfer = wire::transfer::copy;
    if (op->transfer == wire::transfer::write_imm && !d.limits.put_imm) op->transfer = wire::transfer::write;
    op->total = body.size;
    op->remote_addr = body.addr;
    op->remote_key = body.rkey;
    op->peer_operation = static_cast<uint32_t>(body.operation);
    op->pieces.store(1, std::memory_order_relaxed);
    return true;
  });
}

// --- the end of the data: FIN, or an immediate ---

void send_fin(device& d, int peer, uint64_t operation, uint8_t policy) {
  wire::header fin;
  fin.what = wire::kind::fin;
  fin.policy = policy;
  fin.tag = operation;
  send_or_queue(d, peer, fin);
}

bool refuse(device& d, int peer, uint64_t operation, uint8_t policy) {
  send_fin(d, peer, operation, policy);
  return false;
}

bool receive_fin(device& d, int peer, wire::message& m) {
  if (LCI_UNLIKELY(m.head.policy == wire::not_found)) return receive_not_found(d, peer, m.head.tag);
  const failure how = failure_said_by(m.head.policy);
  wire::fin_body body{~uint64_t{0}};
  if (how != failure::none) (void)wire::take_body(m, body);
  const uint8_t awaited = awaits_receiver | awaits_data | (how != failure::none ? awaits_fragments : 0);
  return visit_operation(d, static_cast<uint32_t>(m.head.tag), awaited, peer, [&](operation* op, uint8_t kind) {
    if (how == failure::none) return op->gate.close();
    if (kind == awaits_receiver) {
      if (!op->gate.close()) return false;
      op->fail_as(how);
      return true;
    }
    op->fail_as(how);  // before the last byte is counted
    // Fragments already sent may still be in flight: the operation ends, and the user owns the buffer, after them.
    if (op->take_from_left(body.unsent) <= body.unsent) (void)op->gate.close();
    return true;
  });
}

void device::on_remote_write(int peer, uint32_t imm) {
  const auto end = [](operation* op, uint8_t) {
    if (op->doing() != op_state::splitting) return op->gate.close();  // once all accessors have left
    end_part(op, senders_part(op->total));
    return true;
  };
  if (!visit_operation(*this, imm, awaits_data, peer, end)) count_rejected(*this);
}

}  // namespace lci::core
