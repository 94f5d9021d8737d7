// Pieces and completion of all transfers: rendezvous, puts, gets, and the operations that wait for one answer.
#include "lib/core/transfer/transfers.hpp"

#include <algorithm>
#include <new>

#include "lib/core/device/device.hpp"
#include "lib/core/device/gates.hpp"
#include "lib/core/device/in_progress.hpp"
#include "lib/core/device/receive.hpp"
#include "lib/core/device/sending.hpp"
#include "lib/core/device/signals.hpp"
#include "lib/core/operation/ticket.hpp"
#include "lib/core/transfer/choice.hpp"

namespace lci::core {

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
  const bool acknowledged = op->doing() == op_state::put && op->by_messages;
  const bool by_messages = acknowledged || (writing && op->transfer == wire::transfer::copy);
  const bool by_imm = writing && op->transfer == wire::transfer::write_imm;
  const size_t largest = op->shaped || by_messages ? piece_room(d, op->shaped)
                                                   : largest_rma(d.limits, d.rt.attr.rdv_chunk_size, op->in_order);
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
  if (op->copied) free_payload(d, op->status.buffer, op->allocator);
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

/// Records how long a transfer took, and gives back what an operation has used besides its own memory.
void end_uses(device& owner, operation* op) {
  if (op->timed && !op->has_failed())
    note_end_of_timed(owner, op);
  else if (op->doing() == op_state::reading)
    owner.ways.ended_untimed(op->status.rank, way::read);
  if (op->registered) owner.registrations.release(op->reg);
  if (packet* const p = op->carried()) p->pool->put(p);
  if (op->shaped) op->shape.reset();
}

/// What is left to do for an operation once its completion object has been signalled, so that a drained device has
/// signalled everything. The destructor does it, as a handler may throw. Copied from the operation, whose memory is
/// reused before the signal.
struct last_steps {
  device& owner;
  void* buffer;  // to be freed; null: none
  allocator_base_t* allocator;
  int peer;
  bool counted, parity, acknowledges, in_window;
  uint32_t peer_operation;
  uint8_t answer;  // policy of the ack

  explicit last_steps(const operation& op)
      : owner(*op.owner()),
        buffer(op.in_place ? op.status.buffer : nullptr),
        allocator(op.allocator),
        peer(op.status.rank),
        counted(op.counted),
        parity(op.parity),
        // A stream acknowledges its messages itself, when it delivers them; the ack of a split one is for its buffer.
        acknowledges(op.acknowledges && (!op.ordered || op.doing() == op_state::splitting)),
        in_window(op.in_window),
        peer_operation(op.peer_operation),
        answer(policy_of(op.status)) {}
  ~last_steps() {
    if (buffer != nullptr) free_payload(owner, buffer, allocator);
    if (acknowledges) send_ack(owner, peer, peer_operation, answer);
    if (counted) owner.flushes.end(peer, parity);
    if (in_window) owner.receive_window.end();
    owner.pending.fetch_sub(1, std::memory_order_release);
  }
  /// For a message that is not delivered: its payload is freed, and the ack tells the sender that it was refused.
  void drop(void* payload) {
    buffer = payload;
    if (answer == 0) answer = wire::refused;
  }
  last_steps(const last_steps&) = delete;
  last_steps& operator=(const last_steps&) = delete;
};

/// Returns whether the target of a large active message has been deregistered since the transfer began, so that the
/// object may be gone.
bool has_lost_target(const device& d, const operation& op) {
  return op.allocated && !op.ordered && op.comp != nullptr && d.rt.rcomps.lookup(op.remote_comp) != op.comp;
}

}  // namespace

void complete_operation(device& d, operation* op) {
  end_uses(*op->owner(), op);
  last_steps after(*op);
  const status_t status = op->status;
  comp_impl_t* const comp = op->comp;
  if (LCI_UNLIKELY(has_lost_target(d, *op))) {
    after.drop(status.buffer);
    count_rejected(d);
    report_undelivered(d, op->remote_comp, status.rank, status.tag, status.size);
    return d.rt.operations.release(op);
  }
  void* const payload = op->allocated || op->allocates ? status.buffer : nullptr;
  d.rt.operations.release(op);
  if (comp == nullptr) return;
  const bool keeps_status = !may_post(comp->attr.comp_type);  // read now: signal() may free `comp`
  try {
    LCI_UNLIKELY(tls_posting != nullptr) ? signal_from_post(*tls_posting, comp, status) : comp->signal(status);
  } catch (...) {
    if (keeps_status) {
      // The status was not stored, so the message is not delivered: free its payload and report no_memory.
      if (payload != nullptr) after.buffer = payload;
      if (after.answer == 0) after.answer = wire::no_memory;
    }
    throw;
  }
}

}  // namespace lci::core
