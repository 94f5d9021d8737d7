// Rendezvous, and the pieces and the completion of all transfers. Messages too large for an eager protocol begin with a
// handshake. The receiver chooses the transfer: it reads the sender's memory, or answers with an RTR, upon which the
// sender writes to the receiver's buffer (and sends a FIN or an immediate) or, for one without remote access, sends
// fragments that the receiver copies.
#include "lib/core/transfer/transfers.hpp"

#include <algorithm>
#include <new>

#include "lib/base/check.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/device/device_visit.hpp"
#include "lib/core/device/gates.hpp"
#include "lib/core/device/in_progress.hpp"
#include "lib/core/device/internal_ids.hpp"
#include "lib/core/device/receive.hpp"
#include "lib/core/device/sending.hpp"
#include "lib/core/device/signals.hpp"
#include "lib/core/device/unexpected_messages.hpp"
#include "lib/core/match/unexpected.hpp"
#include "lib/core/memory/memory_region.hpp"
#include "lib/core/operation/ticket.hpp"
#include "lib/core/transfer/choice.hpp"
#include "lib/core/transfer/handlers.hpp"

namespace lci::core {

// --- the receiver: RTS ---

bool receive_rts(device& d, int peer, wire::message& m) {
  wire::rts_body body;
  if (!wire::take_body(m, body)) return false;
  if (m.head.what == wire::kind::rts_am) return take_large_am(d, {peer, wire::tag_of(m.head), m.head.word, body});
  matching_engine* engine = d.rt.engines.get(m.head.engine);
  if (engine == nullptr) engine = unlisted_engine(d, m.head.engine);
  if (engine == nullptr && !engine_table::is_number(m.head.engine)) return refuse(d, peer, body.operation);
  const auto refuse_for_lack_of_memory = [&] {
    count_undelivered(d, peer, body.size);
    (void)refuse(d, peer, body.operation, wire::no_memory);
    return true;
  };
  unexpected* const u = allocate_unexpected(0);
  if (LCI_UNLIKELY(u == nullptr)) return refuse_for_lack_of_memory();
  const bool late = d.lifetime.closing() || (LCI_UNLIKELY(d.failures.may_be_any()) && d.failures.is_closing(peer));
  *u = {peer, wire::tag_of(m.head), body.size, true, late, d.attr.uid, body};
  d.flow.count(peer, u->memory());
  void* match = nullptr;
  early stored = early::allocated;
  if (LCI_UNLIKELY(engine == nullptr)) stored = store_early(d, m.head, u, engine);
  if (LCI_UNLIKELY(stored == early::no_memory)) return refuse_for_lack_of_memory();
  if (LCI_LIKELY(stored == early::allocated)) {
    const uint64_t key = engine->make_key(peer, u->tag, static_cast<matching_policy_t>(m.head.policy));
    if (LCI_UNLIKELY(!file_unexpected(d, *engine, key, u, match))) return refuse_for_lack_of_memory();
  }
  if (LCI_UNLIKELY(late)) {
    (void)refuse(d, peer, body.operation, wire::cancelled);
    if (match != nullptr) cancel_receive(d, static_cast<operation*>(match), peer, wire::tag_of(m.head));
  }
  if (match == nullptr) return true;
  free_unexpected(&d, u);
  if (LCI_UNLIKELY(late)) return true;
  start_receive(d, static_cast<operation*>(match), peer, wire::tag_of(m.head), body);
  return true;
}

namespace {

/// One of the two parts of such a message has arrived.
void end_part(operation* op, uint64_t size) {
  if (op->take_from_left(size) <= size) (void)op->gate.close();
}

/// Registers the buffer. False: there are no resources, or there is no memory.
bool try_register(device& d, operation* op) {
  try {
    op->reg = d.registrations.acquire(op->status.buffer, op->total);
    return op->registered = true;
  } catch (const resource_error&) {
  } catch (const std::bad_alloc&) {
  }
  return false;
}

}  // namespace

void start_receive(device& d, operation* op, int peer, tag_t tag, const wire::rts_body& rts) {
  const bool lacks_memory = LCI_UNLIKELY(op->allocates) && rts.size > 0 && !allocate_buffer(d, op, peer, rts);
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
  if (LCI_UNLIKELY(lacks_memory)) {
    if (!op->acknowledges) (void)refuse(d, peer, rts.operation, wire::no_memory);
    op->fail_as(failure::no_memory);
    return fail_operation(d, op);
  }
  // A receive may match an RTS whose sender has failed since: there is no peer to answer.
  if (LCI_UNLIKELY(d.failures.may_be_any()) && d.failures.has_failed(peer)) return fail_operation(d, op);

  choice how = choose_transfer(d, op, rts.rkey != 0);
  if (how != choice::copy && op->reg.rkey == 0 && op->total > 0 && !try_register(d, op))
    how = choice::copy;                         // needs no registration
  if (how == choice::read || op->total == 0) {  // 0 bytes: only a FIN is needed
    op->become(op_state::reading);
    op->remote_addr = rts.addr;
    op->remote_key = rts.rkey;
    op->pieces.store(1, std::memory_order_relaxed);
    advance(d, op);
    return;
  }
  const bool splits = how == choice::split;
  op->become(splits ? op_state::splitting : op_state::await_data);
  op->left.store(op->total, std::memory_order_relaxed);
  wire::framed<wire::rtr_body> rtr;
  rtr.head.what = wire::kind::rtr;
  op->transfer = how == choice::write       ? wire::transfer::write
                 : how == choice::write_imm ? wire::transfer::write_imm
                 : splits                   ? wire::transfer::split
                                            : wire::transfer::copy;
  if (LCI_UNLIKELY(d.observer != nullptr) && d.observer->counts != nullptr && how == choice::copy)
    d.observer->counts->add(counted::rendezvous_in_fragments, peer, op->total);
  rtr.head.policy = static_cast<uint8_t>(op->transfer);
  rtr.head.tag = rts.operation;
  rtr.body = {op->total, reinterpret_cast<uint64_t>(op->status.buffer), op->reg.rkey, op->handle()};
  if (splits) {
    rtr.body.size = op->next_offset = senders_part(op->total);
    op->acknowledges = true;  // when this thread has read its part, too: until then the sender keeps its buffer
    op->remote_addr = rts.addr;
    op->remote_key = rts.rkey;
    op->pieces.store(1, std::memory_order_relaxed);
  }
  open_gate(d, op, awaits_data, splits);
  send_request(d, peer, static_cast<uint32_t>(rtr.body.operation), awaits_data, rtr);
  if (splits) advance(d, op);  // this thread stays an accessor until its part is read
}

// --- the sender: RTR ---

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
    if (!stops && (!d.limits.rma || op->shaped)) op->transfer = wire::transfer::copy;
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

namespace {

/// Sends a FIN to the receiver of a transfer that failed at its sender.
LCI_COLD void send_broken_fin(device& d, operation* op) {
  const bool by_messages = op->transfer == wire::transfer::copy;
  wire::framed<wire::fin_body> fin;
  fin.head.what = wire::kind::fin;
  fin.head.policy = answer_of(op->failed.load(std::memory_order_relaxed));
  fin.head.tag = op->peer_operation;
  fin.body.unsent = op->total - (by_messages ? op->next_offset : 0);
  send_or_queue(d, op->status.rank, fin);
}

}  // namespace

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

// --- pieces ---

errorcode_t post_piece(device& d, operation* op, size_t offset, size_t size) {
  const op_state doing = op->doing();
  const bool writes = doing == op_state::writing || doing == op_state::put;
  network::net_op piece;
  piece.kind = writes ? network::verb::put : network::verb::get;
  piece.peer = op->status.rank;
  piece.n_segments = 1;
  piece.segments[0] = {static_cast<std::byte*>(op->status.buffer) + offset, size, op->reg.lkey};
  piece.remote_addr = op->remote_addr + offset;
  piece.remote_key = op->remote_key;
  piece.context = op;
  piece.ordered = op->in_order;
  if (doing == op_state::writing && op->transfer == wire::transfer::write_imm && offset + size == op->total) {
    piece.has_imm = true;
    piece.imm = op->peer_operation;
  }
  return d.net->post(piece);
}

namespace {

/// The same for an operation already posted: if the network refuses the piece, records why and returns `fatal`; or sets
/// `denied` if the operation can go on by messages.
errorcode_t post_later_piece(device& d, operation* op, size_t offset, size_t size, bool& denied) {
  try {
    return post_piece(d, op, offset, size);
  } catch (const resource_error& e) {
    if (dynamic_cast<const network::access_denied_error*>(&e) != nullptr && can_go_by_messages(op)) {
      denied = true;
      return errorcode_t::retry;
    }
    // The thread that makes progress may not be the one that posted, so it records the reason and does not throw.
    d.failures.add_refusal(op->status.rank, e.what());
    op->fail_as(failure::fatal);
    return errorcode_t::fatal;
  } catch (const peer_failure_error&) {
    return errorcode_t::fatal;
  } catch (const std::bad_alloc&) {
    return errorcode_t::retry_nomem;
  }
}

}  // namespace

bool try_advance(device& d, operation* op) {
  const bool writing = op->doing() == op_state::writing;
  // An emulated put ends with its acknowledgements; this thread is an accessor of its gate until all is posted.
  const bool acknowledged = op->doing() == op_state::put && !d.limits.rma;
  const bool by_messages = acknowledged || (writing && op->transfer == wire::transfer::copy);
  const bool by_imm = writing && op->transfer == wire::transfer::write_imm;
  const size_t largest =
      op->shaped || by_messages ? piece_room(d, op) : largest_rma(d.limits, d.rt.attr.rdv_chunk_size, op->in_order);
  // A receiver that waits for an immediate or fragments must get one, even for 0 bytes.
  bool first = writing && op->total == 0 && op->transfer != wire::transfer::write;
  while (op->next_offset < op->total || first) {
    first = false;
    if (op->has_failed() || (acknowledged && op->gate.is_closed())) break;
    if (LCI_UNLIKELY(op->named) && ticket_of(op).stop()) {
      op->fail_as(failure::cancelled);
      break;
    }
    const size_t size = std::min<size_t>(largest, op->total - op->next_offset);
    // The immediate reports that all data has arrived, so its piece is posted after the others have completed.
    const bool last = op->next_offset + size == op->total;
    if (last && by_imm && op->pieces.load(std::memory_order_acquire) > 1) return false;
    op->pieces.fetch_add(1, std::memory_order_relaxed);
    bool denied = false;
    const errorcode_t result =
        by_messages ? send_piece(d, op, size) : post_later_piece(d, op, op->next_offset, size, denied);
    if (result != errorcode_t::posted) op->pieces.fetch_sub(1, std::memory_order_relaxed);
    if (LCI_UNLIKELY(denied)) return advance_by_messages(d, op);
    if (error_t(result).is_retry()) return false;
    if (result == errorcode_t::fatal) {
      if (op->has_failed()) break;  // refused
      // If it is not known yet whether the peer failed or freed its device, retry: a later poll reports it.
      const failure how = d.failures.with(op->status.rank);
      if (how == failure::none) return false;
      op->fail_as(how);
      break;
    }
    op->next_offset += size;
  }
  if (acknowledged && op->next_offset < op->total) {
    // Posted pieces are still ended by acknowledgements or by the peer's failure; the others are subtracted here.
    const uint64_t unposted = pieces_of(d, op, op->total - op->next_offset);
    if (op->take_from_left(unposted) <= unposted) (void)op->gate.close();
  }
  if (acknowledged && LCI_UNLIKELY(op->named)) ticket_of(op).release(d);
  acknowledged ? leave_gate(d, op) : end_piece(d, op);
  return true;
}

void advance(device& d, operation* op) {
  if (!try_advance(d, op)) resume_later(d, op);
}

void resume_later(device& d, operation* op) {
  backlog::item item;
  item.peer = op->status.rank;
  item.what = backlog::item::type::resume;
  item.resume = op;
  enqueue(d, std::move(item));
}

void end_piece(device& d, operation* op) {
  // A2: pairs with itself: the thread that ends the last piece sees what the others did.
  if (op->pieces.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (op->doing() != op_state::splitting) return finish_transfer(d, op);
  end_part(op, op->total - senders_part(op->total));
  leave_gate(d, op);
}

void device::on_complete(void* context) { end_piece(*this, static_cast<operation*>(context)); }

// --- completion ---

namespace {

/// For a transfer whose pieces have completed, while the caller is still an accessor of its gate.
void await_ack(device& d, operation* op) {
  op->become(op_state::await_ack);
  if (LCI_UNLIKELY(op->named)) ticket_of(op).release(d);
  leave_gate(d, op);
}

}  // namespace

void finish_transfer(device& d, operation* op) {
  if (const failure how = op->failed.load(std::memory_order_relaxed); LCI_UNLIKELY(how != failure::none)) {
    if (op->doing() == op_state::writing) {
      send_broken_fin(d, op);
      if (op->acknowledged) {  // its gate is open: unless the receiver has failed, it still sends its ack
        if (how == failure::fatal) (void)op->gate.close();
        return await_ack(d, op);
      }
    }
    return fail_operation(d, op);
  }
  switch (op->doing()) {
    case op_state::reading:
      if (!op->acknowledges) send_fin(d, op->status.rank, op->peer_operation);
      break;
    case op_state::writing:
      if (op->transfer == wire::transfer::write) send_fin(d, op->status.rank, op->peer_operation);
      if (op->acknowledged) return await_ack(d, op);
      break;
    case op_state::put:
    case op_state::get:
      if (op->signals) send_signal(d, op->status.rank, op->remote_comp, op->status.tag, op->remote_addr, op->total);
      break;
    default:
      break;
  }
  complete_operation(d, op);
}

void forget_operation(device& d, operation* op) {
  if (op->named) ticket_of(op).retire();
  if (op->shaped) op->shape.reset();
  if (op->registered) d.registrations.release(op->reg);
  if (op->counted) d.flushes.end(op->status.rank, op->parity);
  d.rt.operations.release(op);
  d.pending.fetch_sub(1, std::memory_order_release);
}

void fail_operation(device& d, operation* op) {
  const failure how = op->failed.load(std::memory_order_relaxed);
  op->status.error = error_of(how);
  if (how == failure::cancelled) op->status.size = 0;
  if (op->allocated) {
    // An active message whose transfer fails is dropped, as if it had not been posted.
    if (!op->ordered) op->comp = nullptr;
    op->in_place = true;
  }
  if (op->allocates) drop_buffer(d, op);
  // A failed read also needs a FIN to its sender, unless an ack reports the failure.
  if (op->doing() == op_state::reading && !op->acknowledges)
    send_fin(d, op->status.rank, op->peer_operation, answer_of(how));
  complete_operation(d, op);
}

namespace {

/// Policy of an ack.
uint8_t policy_of(const status_t& status) {
  switch (status.error.errorcode) {
    case errorcode_t::cancelled:
      return wire::cancelled;
    case errorcode_t::no_memory:
      return wire::no_memory;
    default:
      return status.is_done() ? 0 : wire::refused;
  }
}

}  // namespace

void complete_operation(device& d, operation* op) {
  device& owner = *op->owner();
  if (op->timed && !op->has_failed())
    note_end_of_timed(owner, op);
  else if (op->doing() == op_state::reading)
    owner.ways.ended_untimed(op->status.rank, way::read);
  if (op->registered) owner.registrations.release(op->reg);
  if (op->carrier != nullptr) op->carrier->pool->put(op->carrier);
  if (op->shaped) op->shape.reset();
  const status_t status = op->status;
  comp_impl_t* comp = op->comp;
  // A destructor, as the handler may throw. Runs after signal(), so that a drained device has signalled everything.
  struct ending {
    device& owner;
    void* buffer;
    allocator_base_t* allocator;
    int peer;
    bool counted, parity, acknowledges, in_window;
    uint32_t peer_operation;
    uint8_t answer;
    ~ending() {
      if (buffer != nullptr) free_payload(owner, buffer, allocator);
      if (acknowledges) send_ack(owner, peer, peer_operation, answer);
      if (counted) owner.flushes.end(peer, parity);
      if (in_window) owner.receive_window.end();
      owner.pending.fetch_sub(1, std::memory_order_release);
    }
  } at_end{owner,
           op->in_place ? status.buffer : nullptr,
           op->allocator,
           status.rank,
           op->counted,
           op->parity,
           op->acknowledges && (!op->ordered || op->doing() == op_state::splitting),
           op->in_window,
           op->peer_operation,
           policy_of(status)};
  void* const payload = op->allocated || op->allocates ? status.buffer : nullptr;
  d.rt.operations.release(op);
  if (comp == nullptr) return;
  const bool keeps_status = !may_post(comp->attr.comp_type);  // read now: signal() may free `comp`
  try {
    LCI_UNLIKELY(tls_posting != nullptr) ? signal_from_post(*tls_posting, comp, status) : comp->signal(status);
  } catch (...) {
    if (keeps_status) {
      // The status was not stored, so the message is not delivered: free its payload and report no_memory.
      at_end.buffer = payload;
      if (at_end.answer == 0) at_end.answer = wire::no_memory;
    }
    throw;
  }
}

}  // namespace lci::core
