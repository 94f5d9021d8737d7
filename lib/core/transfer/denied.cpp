// Transfers whose accesses to the peer's memory the system denies go on in fragments. A kernel may allow these accesses
// at the start and deny them later, when the peer has changed its user or has been made undumpable.
#include <new>
#include <utility>

#include "lib/core/device/device.hpp"
#include "lib/core/device/gates.hpp"
#include "lib/core/device/sending.hpp"
#include "lib/core/operation/ticket.hpp"
#include "lib/core/transfer/transfers.hpp"

namespace lci::core {

namespace {

/// The receiver asks the sender for fragments: of the whole message, or of its own part of a split one.
void request_fragments(device& d, operation* op) {
  if (d.observer != nullptr && d.observer->counts != nullptr)
    d.observer->counts->add(counted::rendezvous_in_fragments, op->status.rank, op->total);
  wire::framed<wire::rtr_body> rtr;
  rtr.head.what = wire::kind::rtr;
  rtr.head.policy = static_cast<uint8_t>(wire::transfer::copy);
  rtr.head.tag = op->peer_operation;
  rtr.body = {op->total, reinterpret_cast<uint64_t>(op->status.buffer), 0, op->handle()};
  send_request(d, op->status.rank, static_cast<uint32_t>(rtr.body.operation), awaits_data, rtr);
}

/// Another try follows what else waits for this peer, which may be what the peer waits for. Returns as try_advance().
bool wait_behind_others(device& d, operation* op) {
  backlog::item item;
  item.peer = op->status.rank;
  item.what = backlog::item::type::resume;
  item.resume = op;
  try {
    d.backlog.push(std::move(item));
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

}  // namespace

bool can_go_by_messages(const operation* op) {
  const op_state doing = op->doing();
  return (doing == op_state::reading || doing == op_state::writing || doing == op_state::splitting) &&
         op->pieces.load(std::memory_order_acquire) == 2;  // this thread's, and the denied one
}

bool advance_by_messages(device& d, operation* op) {
  switch (op->doing()) {
    case op_state::writing:
      // From the beginning, as the receiver counts the bytes of fragments only.
      op->transfer = wire::transfer::copy;
      op->next_offset = 0;
      return try_advance(d, op);
    case op_state::reading:
      op->become(op_state::await_data);
      op->transfer = wire::transfer::copy;
      op->timed = false;
      op->left.store(op->total, std::memory_order_relaxed);
      if (op->named) ticket_of(op).release(d);  // each fragment holds it
      open_gate(d, op, awaits_data, true);
      break;
    default:
      // Of a split message first the sender's part: only then is the sender sure to wait for an ack, so that it can be
      // asked for the other part.
      if (op->left.load(std::memory_order_relaxed) > op->total - senders_part(op->total))
        return wait_behind_others(d, op);
      break;
  }
  request_fragments(d, op);
  leave_gate(d, op);
  return true;
}

bool take_request_for_rest(operation* op, const wire::header& head, const wire::rtr_body& rtr) {
  if (!op->split || head.policy != static_cast<uint8_t>(wire::transfer::copy)) return false;
  if (rtr.size == 0 || rtr.size > op->status.size || !op->gate.close()) return false;
  op->left.store(rtr.size, std::memory_order_relaxed);  // read by the last accessor to leave
  return true;
}

bool begin_rest(operation* op) {
  const uint64_t whole = op->left.load(std::memory_order_relaxed);  // 0 after an ack
  if (op->doing() != op_state::await_ack || op->has_failed() || whole == 0) return false;
  op->become(op_state::writing);
  op->transfer = wire::transfer::copy;
  op->next_offset = op->total;
  op->total = whole;
  op->left.store(1, std::memory_order_relaxed);
  op->pieces.store(1, std::memory_order_relaxed);
  return true;
}

}  // namespace lci::core
