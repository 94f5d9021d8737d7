// Pieces of transfers as messages, which the target copies: fragments of a rendezvous or of a get's data, and puts of
// networks (or kernels) without remote access.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <new>

#include "lib/base/copy_bytes.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/device/gates.hpp"
#include "lib/core/device/sending.hpp"
#include "lib/core/operation/ticket.hpp"
#include "lib/core/transfer/handlers.hpp"
#include "lib/core/transfer/transfers.hpp"

namespace lci::core {

size_t piece_room(const device& d, bool shaped) {
  constexpr size_t body = sizeof(uint64_t) * 2;
  constexpr size_t front = sizeof(wire::header) + body;
  // Pieces that need no packet have a power of two of bytes, which divides the usual sizes without a rest.
  const size_t injected = d.limits.max_inject > front ? std::bit_floor(d.limits.max_inject - front) : 0;
  const size_t room = std::max(injected, d.eager_limit - body);
  return shaped ? std::min(room, largest_gathered) : room;
}

uint64_t pieces_of(const device& d, const operation* op, uint64_t size) {
  const size_t room = piece_room(d, op->shaped);
  return (size + room - 1) / room;
}

errorcode_t send_piece(device& d, operation* op, size_t size) {
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
  if (front_size + size <= d.limits.max_inject) {
    std::array<std::byte, largest_gathered> gathered;
    std::byte* from = base + op->next_offset;
    if (op->shaped) {
      op->shape->gather(gathered.data(), base, op->next_offset, size);
      from = gathered.data();
    }
    piece.inject = true;
    piece.n_segments = size > 0 ? 2 : 1;
    piece.segments = {network::segment{&front, front_size, 0}, network::segment{from, size, 0}};
    try {
      return d.net->post(piece);
    } catch (const std::bad_alloc&) {
      return errorcode_t::retry_nomem;  // earlier pieces may be outstanding
    }
  }
  packet* p = d.supply.reserved();
  if (p == nullptr) return errorcode_t::retry_nopacket;
  p->head = front.head;
  std::memcpy(p->payload(), front.body, front_size - sizeof(wire::header));
  std::byte* const to = p->payload() + front_size - sizeof(wire::header);
  if (op->shaped)
    op->shape->gather(to, base, op->next_offset, size);
  else
    copy_bytes(to, base + op->next_offset, size);
  const errorcode_t result = send_packet(d, op->status.rank, p, front_size - sizeof(wire::header) + size);
  if (!error_t(result).is_done()) p->pool->put(p);
  return result;
}

namespace {

void copy_fragment(operation* op, uint64_t offset, const std::byte* data, size_t size) {
  if (size == 0) return;
  if (op->shaped)
    op->shape->scatter(op->status.buffer, offset, data, size);
  else
    copy_bytes(static_cast<std::byte*>(op->status.buffer) + offset, data, size);
}

/// Returns whether the operation, which is named, holds its ticket only while a fragment is copied. A receive that has
/// asked for another transfer holds it all the time, also if its sender chooses to send fragments.
bool is_held_by_fragments(const operation* op) {
  return op->doing() == op_state::get || (op->doing() == op_state::await_data && op->transfer == wire::transfer::copy);
}

/// Copies a fragment, unless the operation was cancelled: then it ends as such after its last fragment. Otherwise that
/// one's hold is left to the end, so that a cancel in between does not end an operation that has all its data.
LCI_COLD void take_held_fragment(device& d, operation* op, uint64_t offset, const std::byte* data, size_t size) {
  const bool copies = ticket_of(op).hold();
  copies ? copy_fragment(op, offset, data, size) : op->fail_as(failure::cancelled);
  const bool last = op->take_from_left(size) <= size;
  if (copies && !last) ticket_of(op).release(d);
  if (last) (void)op->gate.close();
}

}  // namespace

bool receive_fragment(device& d, int peer, wire::message& m) {
  wire::fragment_body body;
  if (!wire::take_body(m, body)) return false;
  const auto copy = [&](operation* op, uint8_t) {
    if (body.offset > op->total || m.size > op->total - body.offset) return false;
    if (LCI_UNLIKELY(op->named) && is_held_by_fragments(op)) {
      take_held_fragment(d, op, body.offset, m.data, m.size);
      return true;
    }
    copy_fragment(op, body.offset, m.data, m.size);
    if (op->take_from_left(m.size) <= m.size) (void)op->gate.close();
    return true;
  };
  return visit_operation(d, static_cast<uint32_t>(m.head.tag), awaits_data | awaits_fragments, peer, copy);
}

}  // namespace lci::core
