#include "lib/core/transfer/choice.hpp"

#include "lib/core/device/device.hpp"
#include "lib/core/operation/ticket.hpp"
#include "lib/core/transfer/receive_window.hpp"

namespace lci::core {

namespace {

/// Bytes. The first guess, until this device has measured: for smaller messages, the messages by which both processes
/// agree cost more than half of the copy.
constexpr size_t smallest_usual_split = 32 << 10;

/// Returns whether the sender can write one part of this message while this process reads the other.
bool can_split(const device& d, const operation* op) {
  // The sender keeps its buffer until it gets an ack, which a stream sends for messages that asked for one only after
  // those before them.
  return d.limits.rma && d.limits.put_imm && op->total > 1 && !(op->ordered && op->acknowledges);
}

choice choose_forced(device& d, operation* op, bool readable) {
  const network::limits& limits = d.limits;
  const attr_rdv_protocol_t wanted = d.rt.attr.rdv_protocol;
  if (op->shaped || !limits.rma || wanted == attr_rdv_protocol_t::copy) return choice::copy;
  const bool writes = wanted == attr_rdv_protocol_t::write || wanted == attr_rdv_protocol_t::writeimm;
  if (readable && wanted == attr_rdv_protocol_t::split && can_split(d, op)) return choice::split;
  // A read needs one message less than a write.
  if (readable && !writes) return choice::read;
  return limits.put_imm && wanted != attr_rdv_protocol_t::write ? choice::write_imm : choice::write;
}

/// Chooses how the data of a rendezvous moves, for a network that can read:
/// - If the sender may not poll soon, this thread reads.
/// - If a read would wait for the sender's polls, the sender writes.
/// - If the sender polls, the fastest of three ways is taken, as measured: fragments in messages, which cost a copy at
///   each end; a read, which costs one copy, by this thread; or a read of one part, while the sender writes the other.
choice choose_by(device& d, network::attention sender, operation* op) {
  const bool fits_window = op->total <= receive_window::largest;  // fragments of larger ones meet in no cache
  if (sender == network::attention::needed) {
    op->in_window = op->allocated && fits_window && d.receive_window.begin(op->status.rank);
    return d.limits.put_imm ? choice::write_imm : choice::write;
  }
  if (sender == network::attention::unknown || op->total == 0) return choice::read;
  // The kernel takes much longer to make pages for another process than for the caller: no write to fresh memory.
  if (op->allocated && !fits_window) return choice::read;
  way_set possible = way_set::of(way::read);
  if (fits_window) possible.add(way::fragments);
  if (can_split(d, op)) possible.add(way::split);
  // Until all are measured. What the program will own is fresh memory; a buffer for a handler is mostly reused.
  const bool fresh = op->allocated && !op->in_place;
  // Not fragments: an eager message has the same two copies without a handshake, and the sender measures that, too.
  const bool may_split = possible.has(way::split) && !fresh && op->total >= smallest_usual_split;
  const way usual = may_split ? way::split : way::read;
  const way chosen = d.ways.choose(op, sender == network::attention::polls, usual, possible);
  if (chosen == way::read) return choice::read;
  // Several messages that arrive at a time need a buffer each.
  if (op->allocated && !(op->in_window = d.receive_window.begin(op->status.rank))) return choice::read;
  return chosen == way::fragments ? choice::copy : choice::split;
}

/// Chooses for a receive with a deadline, which ends in time although its sender does nothing more: a read that does
/// not wait for the sender, or fragments, which this process drops once the receive has ended. The sender can't be kept
/// from writing.
LCI_COLD choice choose_in_time(const device& d, const operation* op, bool readable) {
  const bool reads = readable && !op->shaped && d.limits.rma && d.rt.attr.rdv_protocol != attr_rdv_protocol_t::copy &&
                     !d.net->rma_waits_for(op->status.rank);
  return reads ? choice::read : choice::copy;
}

/// How the data of a receive has moved.
way way_of(const operation& op) {
  if (op.doing() == op_state::splitting) return way::split;
  return op.doing() == op_state::await_data && op.transfer == wire::transfer::copy ? way::fragments : way::read;
}

}  // namespace

void note_end_of_timed(device& d, const operation* op) {
  switch (op->doing()) {
    case op_state::reading:
    case op_state::await_data:
    case op_state::splitting:
      return d.ways.ended(op, way_of(*op));
    default:  // at the sender, where `total` is only its part if both processes have moved data
      return d.protocols.rendezvous_ended(op->status.rank, op->status.size);
  }
}

choice choose_transfer(device& d, operation* op, bool readable) {
  if (LCI_UNLIKELY(op->named) && ticket_of(op).has_deadline()) return choose_in_time(d, op, readable);
  const choice how = choose_forced(d, op, readable);
  if (how == choice::read && d.rt.attr.rdv_protocol == attr_rdv_protocol_t::auto_select)
    return choose_by(d, d.net->attention_of(op->status.rank), op);
  if ((how == choice::copy || how == choice::split) && op->allocated && op->total <= receive_window::largest)
    op->in_window = d.receive_window.begin(op->status.rank);
  return how;
}

}  // namespace lci::core
