// Rendezvous: messages too large for an eager protocol begin with a handshake. The receiver chooses the transfer:
// it reads the sender's memory, or answers with an RTR, upon which the sender writes to the receiver's buffer (and
// sends a FIN or an immediate) or, for one without remote access, sends fragments that the receiver copies.
#include <algorithm>
#include <array>
#include <cstring>
#include <new>

#include "lib/base/check.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/memory/memory_region.hpp"
#include "lib/core/operation/ticket.hpp"

namespace lci::core {

namespace {

enum class choice { read, write, write_imm, copy };

choice choose(attr_rdv_protocol_t wanted, const network::limits& limits, bool readable) {
  if (!limits.rma || wanted == attr_rdv_protocol_t::copy) return choice::copy;
  switch (wanted) {
    case attr_rdv_protocol_t::write:
      return choice::write;
    case attr_rdv_protocol_t::writeimm:
      return limits.put_imm ? choice::write_imm : choice::write;
    default:
      // A read needs one message less than a write. `readable`: the RTS has a remote key.
      if (readable) return choice::read;
      return limits.put_imm ? choice::write_imm : choice::write;
  }
}

// Bytes. In a stream of larger messages, copies by both processes gain between near cores about what they lose between
// far ones, and the library does not know the distance (docs/decisions/0022-both-ends-copy.md).
constexpr size_t largest_copy_in_stream = 128 << 10;

/// Chooses for a network that can read. If the sender may not poll soon, this thread reads. If a read would wait for
/// the sender's polls, the sender writes. A sender that polls shares the work: a message that fits into the caches is
/// copied through the network's buffers, once by each side. A larger one in a stream is written by the sender if the
/// sender has had an empty poll since the last request, and read otherwise. A larger active message is read.
choice choose_by(network::attention sender, operation* op, const network::limits& limits,
                 receive_window& receive_window) {
  const choice write = limits.put_imm ? choice::write_imm : choice::write;
  if (sender == network::attention::unknown) return choice::read;
  if (sender == network::attention::needed) {
    op->in_window = op->allocated && op->total <= receive_window::largest && receive_window.begin(op->status.rank);
    return write;
  }
  if (op->allocated) {
    // No write: page faults on fresh memory are slow when another process writes it.
    op->in_window = op->total <= receive_window::largest && receive_window.begin(op->status.rank);
    return op->in_window ? choice::copy : choice::read;
  }
  const bool alone = sender == network::attention::polls;
  if (op->total <= (alone ? receive_window::largest : largest_copy_in_stream)) return choice::copy;
  if (sender != network::attention::waits) return choice::read;
  return write;
}

}  // namespace

void device::start_receive(operation* op, int peer, tag_t tag, const wire::rts_body& rts) {
  const size_t capacity = op->status.size;
  if (op->owner() != this) op->reg = {};  // the user registered the buffer with another device
  op->belong_to(this);
  op->status.rank = peer;
  op->status.tag = tag;
  op->status.size = std::min<size_t>(capacity, rts.size);
  op->status.error =
      rts.size > capacity ? errorcode_t::done_truncated : errorcode_t::done;
  op->peer_operation = static_cast<uint32_t>(rts.operation);
  op->acknowledges = (rts.operation & wire::wants_ack) != 0;
  op->total = op->status.size;
  op->next_offset = 0;
  pending.fetch_add(1, std::memory_order_relaxed);
  // A receive may match an RTS whose sender has failed since: there is no peer to answer.
  if (LCI_UNLIKELY(failures.may_be_any()) && failures.has_failed(peer))
    return fail(op);

  choice how = op->shaped ? choice::copy : choose(rt.attr.rdv_protocol, limits, rts.rkey != 0);
  if (how == choice::read && rt.attr.rdv_protocol == attr_rdv_protocol_t::auto_select)
    how = choose_by(net->attention_of(peer), op, limits, receive_window);
  if (how != choice::copy && op->reg.rkey == 0 && op->total > 0) {
    try {
      op->reg = registrations.acquire(op->status.buffer, op->total);
      op->registered = true;
    } catch (const resource_error&) {
      how = choice::copy;  // needs no registration
    }
  }
  if (how == choice::read || op->total == 0) {  // 0 bytes: only a FIN is needed
    op->become(op_state::reading);
    op->remote_addr = rts.addr;
    op->remote_key = rts.rkey;
    op->pieces.store(1, std::memory_order_relaxed);
    advance(op);
    return;
  }
  op->become(op_state::await_data);
  op->left.store(op->total, std::memory_order_relaxed);
  wire::framed<wire::rtr_body> rtr;
  rtr.head.what = wire::kind::rtr;
  rtr.head.policy = static_cast<uint8_t>(how == choice::write       ? wire::transfer::write
                                         : how == choice::write_imm ? wire::transfer::write_imm
                                                                    : wire::transfer::copy);
  rtr.head.tag = rts.operation;
  rtr.body = {op->total, reinterpret_cast<uint64_t>(op->status.buffer), op->reg.rkey, op->handle()};
  open(op, awaits_data);
  send_request(peer, static_cast<uint32_t>(rtr.body.operation), awaits_data, rtr);
}

namespace {

/// An action for visit(): ends the operation once all accessors have left.
bool end(operation* op, uint8_t) { return op->gate.close(); }

}  // namespace

bool device::receive_rtr(int peer, wire::message& m) {
  wire::rtr_body body;
  if (!wire::take_body(m, body) || m.head.policy > static_cast<uint8_t>(wire::transfer::last))
    return false;
  return visit(static_cast<uint32_t>(m.head.tag), awaits_receiver, peer, [&](operation* op, uint8_t) {
    if (body.size > op->total) return false;
    if (LCI_UNLIKELY(closing()) || (LCI_UNLIKELY(op->named) && !ticket_of(op).hold())) {
      op->fail_as(failure::cancelled);
      // A receiver that was asked for an ack answers the FIN with one, and that ends the operation.
      if (!op->acknowledged && !op->gate.close()) return false;
      send_fin(peer, body.operation, wire::cancelled);
      return true;
    }
    if (!op->gate.close()) return false;
    op->become(op_state::writing);
    op->transfer = static_cast<wire::transfer>(m.head.policy);
    // The receiver may have chosen a transfer that this side can't do.
    if (!limits.rma || op->shaped) op->transfer = wire::transfer::copy;
    if (op->transfer == wire::transfer::write_imm && !limits.put_imm)
      op->transfer = wire::transfer::write;
    op->total = body.size;
    op->remote_addr = body.addr;
    op->remote_key = body.rkey;
    op->peer_operation = static_cast<uint32_t>(body.operation);
    op->pieces.store(1, std::memory_order_relaxed);
    return true;
  });
}

void device::send_fin(int peer, uint64_t operation, uint8_t policy) {
  wire::header fin;
  fin.what = wire::kind::fin;
  fin.policy = policy;
  fin.tag = operation;
  send_or_queue(peer, fin);
}

void device::send_broken_fin(operation* op) {
  const bool by_messages = op->transfer == wire::transfer::copy;
  wire::framed<wire::fin_body> fin;
  fin.head.what = wire::kind::fin;
  fin.head.policy = answer_of(op->failed.load(std::memory_order_relaxed));
  fin.head.tag = op->peer_operation;
  fin.body.unsent = op->total - (by_messages ? op->next_offset : 0);
  send_or_queue(op->status.rank, fin);
}

bool device::receive_fin(int peer, wire::message& m) {
  if (LCI_UNLIKELY(m.head.policy == wire::not_found)) return receive_not_found(peer, m.head.tag);
  const failure how = failure_said_by(m.head.policy);
  wire::fin_body body{~uint64_t{0}};
  if (how != failure::none) (void)wire::take_body(m, body);
  const uint8_t awaited = awaits_receiver | awaits_data | (how != failure::none ? awaits_fragments : 0);
  return visit(static_cast<uint32_t>(m.head.tag), awaited, peer, [&](operation* op, uint8_t kind) {
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

bool device::receive_fragment(int peer, wire::message& m) {
  wire::fragment_body body;
  if (!wire::take_body(m, body)) return false;
  const auto copy = [&](operation* op, uint8_t) {
    if (body.offset > op->total || m.size > op->total - body.offset) return false;
    // Later fragments of a cancelled get are counted but not copied. (A receive waits for all of them.)
    const bool held = op->named && op->doing() == op_state::get;
    if (m.size > 0 && (!held || ticket_of(op).hold())) {
      if (op->shaped)
        op->shape->scatter(op->status.buffer, body.offset, m.data, m.size);
      else
        std::memcpy(static_cast<std::byte*>(op->status.buffer) + body.offset, m.data, m.size);
      if (held) ticket_of(op).release(*this);
    }
    if (op->take_from_left(m.size) <= m.size) (void)op->gate.close();
    return true;
  };
  return visit(static_cast<uint32_t>(m.head.tag), awaits_data | awaits_fragments, peer, copy);
}

void device::on_remote_write(int peer, uint32_t imm) {
  if (!visit(imm, awaits_data, peer, end)) reject();
}

namespace {
// Bytes of a buffer with a layout that are gathered at a time: few enough to stay in the cache until they are sent.
constexpr size_t largest_gathered = 8192;
}  // namespace

errorcode_t device::send_piece(operation* op, size_t size) {
  struct {
    wire::header head;
    uint64_t body[2];
  } front{};
  size_t front_size;
  if (op->doing() == op_state::put) {
    front.head.what = wire::kind::put_data;
    front.head.tag = op->handle();
    front.body[0] = op->remote_addr + op->next_offset;
    front.body[1] = op->remote_key;
    front_size = sizeof(wire::framed<wire::put_body>);
  } else {
    front.head.what = wire::kind::fragment;
    front.head.tag = op->peer_operation;
    front.body[0] = op->next_offset;
    front_size = sizeof(wire::framed<wire::fragment_body>);
  }
  network::net_op piece;
  piece.peer = op->status.rank;
  auto* const base = static_cast<std::byte*>(op->status.buffer);
  if (front_size + size <= limits.max_inject) {
    std::array<std::byte, largest_gathered> gathered;
    std::byte* from = base + op->next_offset;
    if (op->shaped) {
      op->shape->gather(gathered.data(), base, op->next_offset, size);
      from = gathered.data();
    }
    piece.inject = true;
    piece.n_segments = size > 0 ? 2 : 1;
    piece.segments = {network::segment{&front, front_size, 0}, network::segment{from, size, 0}};
    return net->post(piece);
  }
  packet* p = reserved_packet();
  if (p == nullptr) return errorcode_t::retry_nopacket;
  p->head = front.head;
  std::memcpy(p->payload(), front.body, front_size - sizeof(wire::header));
  std::byte* const to = p->payload() + front_size - sizeof(wire::header);
  if (op->shaped)
    op->shape->gather(to, base, op->next_offset, size);
  else
    std::memcpy(to, base + op->next_offset, size);
  const errorcode_t result =
      send_packet(op->status.rank, p, front_size - sizeof(wire::header) + size);
  if (!error_t(result).is_done()) p->pool->put(p);
  return result;
}

errorcode_t device::post_piece(operation* op, size_t offset, size_t size) {
  const op_state doing = op->doing();
  const bool writes = doing == op_state::writing || doing == op_state::put;
  network::net_op piece;
  piece.kind = writes ? network::verb::put : network::verb::get;
  piece.peer = op->status.rank;
  piece.n_segments = 1;
  piece.segments[0] = {static_cast<std::byte*>(op->status.buffer) + offset, size,
                       op->reg.lkey};
  piece.remote_addr = op->remote_addr + offset;
  piece.remote_key = op->remote_key;
  piece.context = op;
  if (doing == op_state::writing && op->transfer == wire::transfer::write_imm &&
      offset + size == op->total) {
    piece.has_imm = true;
    piece.imm = op->peer_operation;
  }
  return net->post(piece);
}

errorcode_t device::post_later_piece(operation* op, size_t offset, size_t size) {
  try {
    return post_piece(op, offset, size);
  } catch (const resource_error& e) {
    // The thread that makes progress may not be the one that posted, so it records the reason and does not throw.
    failures.add_refusal(op->status.rank, e.what());
    op->fail_as(failure::fatal);
    return errorcode_t::fatal;
  } catch (const peer_failure_error&) {
    return errorcode_t::fatal;
  } catch (const std::bad_alloc&) {
    return errorcode_t::retry_nomem;
  }
}

bool device::try_advance(operation* op) {
  const bool writing = op->doing() == op_state::writing;
  // An emulated put ends with its acknowledgements; this thread is an accessor of its gate until all is posted.
  const bool acknowledged = op->doing() == op_state::put && !limits.rma;
  const bool by_messages = acknowledged || (writing && op->transfer == wire::transfer::copy);
  const bool by_imm = writing && op->transfer == wire::transfer::write_imm;
  const size_t largest = op->shaped    ? std::min(piece_room(), largest_gathered)
                         : by_messages ? piece_room()
                                       : std::min<size_t>(rt.attr.rdv_chunk_size, limits.max_rma);
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
    const errorcode_t result =
        by_messages ? send_piece(op, size) : post_later_piece(op, op->next_offset, size);
    if (result != errorcode_t::posted) op->pieces.fetch_sub(1, std::memory_order_relaxed);
    if (error_t(result).is_retry()) return false;
    if (result == errorcode_t::fatal) {
      if (op->has_failed()) break;  // refused
      // If it is not known yet whether the peer failed or freed its device, retry: a later poll reports it.
      const failure how = failures.with(op->status.rank);
      if (how == failure::none) return false;
      op->fail_as(how);
      break;
    }
    op->next_offset += size;
  }
  if (acknowledged && op->next_offset < op->total) {
    // Posted pieces are still ended by acknowledgements or by the peer's failure; the others are subtracted here.
    const uint64_t unposted = pieces_of(op->total - op->next_offset);
    if (op->take_from_left(unposted) <= unposted) (void)op->gate.close();
  }
  if (acknowledged && LCI_UNLIKELY(op->named)) ticket_of(op).release(*this);
  acknowledged ? leave(op) : on_complete(op);
  return true;
}

void device::advance(operation* op) {
  if (!try_advance(op)) resume_later(op);
}

void device::resume_later(operation* op) {
  backlog::item item;
  item.peer = op->status.rank;
  item.what = backlog::item::type::resume;
  item.resume = op;
  queue(std::move(item));
}

void device::end_queued(int peer, std::exception_ptr& thrown) {
  try {
    // An operation that ends may queue an answer, so repeat.
    while (backlog.drain([&](backlog::item& item) { return item.peer == peer && submit(item); })) {
    }
  } catch (...) {
    if (thrown == nullptr) thrown = std::current_exception();
  }
}

void device::on_complete(void* context) {
  auto* op = static_cast<operation*>(context);
  // A2: pairs with itself: the thread that ends the last piece sees what the others did.
  if (op->pieces.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  finish(op);
}

void device::await_ack(operation* op) {
  op->become(op_state::await_ack);
  if (LCI_UNLIKELY(op->named)) ticket_of(op).release(*this);
  leave(op);
}

void device::finish(operation* op) {
  if (const failure how = op->failed.load(std::memory_order_relaxed);
      LCI_UNLIKELY(how != failure::none)) {
    if (op->doing() == op_state::writing) {
      send_broken_fin(op);
      if (op->acknowledged) {  // its gate is open: unless the receiver has failed, it still sends its ack
        if (how == failure::fatal) (void)op->gate.close();
        return await_ack(op);
      }
    }
    return fail(op);
  }
  switch (op->doing()) {
    case op_state::reading:
      if (!op->acknowledges) send_fin(op->status.rank, op->peer_operation);
      break;
    case op_state::writing:
      if (op->transfer == wire::transfer::write) send_fin(op->status.rank, op->peer_operation);
      if (op->acknowledged) return await_ack(op);
      break;
    case op_state::put:
    case op_state::get:
      if (op->signals)
        send_signal(op->status.rank, op->remote_comp, op->status.tag, op->remote_addr, op->total);
      break;
    default:
      break;
  }
  complete(op);
}

void device::forget(operation* op) {
  if (op->named) ticket_of(op).retire();
  if (op->shaped) op->shape.reset();
  if (op->registered) registrations.release(op->reg);
  if (op->counted) flushes.end(op->status.rank, op->parity);
  rt.operations.release(op);
  pending.fetch_sub(1, std::memory_order_release);
}

void device::fail(operation* op) {
  const failure how = op->failed.load(std::memory_order_relaxed);
  op->status.error = error_of(how);
  if (how == failure::cancelled) op->status.size = 0;
  if (op->allocated) {
    // An active message whose transfer fails is dropped, as if it had not been posted.
    if (!op->ordered) op->comp = nullptr;
    op->in_place = true;
  }
  // A failed read also needs a FIN to its sender, unless an ack reports the failure.
  if (op->doing() == op_state::reading && !op->acknowledges)
    send_fin(op->status.rank, op->peer_operation, answer_of(how));
  complete(op);
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

void device::complete(operation* op) {
  device& owner = *op->owner();
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
      if (buffer != nullptr) owner.free_payload(buffer, allocator);
      if (acknowledges) owner.send_ack(peer, peer_operation, answer);
      if (counted) owner.flushes.end(peer, parity);
      if (in_window) owner.receive_window.end();
      owner.pending.fetch_sub(1, std::memory_order_release);
    }
  } at_end{owner,       op->in_place ? status.buffer : nullptr, op->allocator,
           status.rank, op->counted,
           op->parity,  op->acknowledges && !op->ordered,
           op->in_window,   op->peer_operation, policy_of(status)};
  void* const payload = op->allocated ? status.buffer : nullptr;
  rt.operations.release(op);
  if (comp == nullptr) return;
  const bool keeps_status = !may_post(comp->attr.comp_type);  // read now: signal() may free `comp`
  try {
    comp->signal(status);
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
