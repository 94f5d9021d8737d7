#include "lib/core/device/gates.hpp"

#include "lib/core/transfer/transfers.hpp"

namespace lci::core {

void open_gate(device& d, operation* op, awaited_packets awaited, bool stay) {
  const uint32_t handle = op->handle();
  const int peer = op->status.rank;
  op->gate.open(awaited, stay);
  // Either the thread that handles the peer's end finds the gate open, or this one finds the end here.
  if (LCI_LIKELY(!d.failures.may_be_any())) return;
  const failure how = d.failures.with(peer);
  if (how != failure::none) end_awaiting(d, peer, handle, awaited, how);
}

void leave_gate(device& d, operation* op) {
  if (!op->gate.leave()) return;
  // Closed, and no other accessor: this thread owns the operation.
  // A sender that stops instead of writing its part of a message still waits until the receiver has read the other one.
  const bool stops = op->doing() == op_state::writing && op->transfer == wire::transfer::split;
  if (stops) op->transfer = wire::transfer::write_imm;
  const bool sends_rest = LCI_UNLIKELY(op->split) && begin_rest(op);
  if (stops || sends_rest || (op->doing() == op_state::writing && !op->has_failed())) {
    // The ack may come before the network has reported the last piece, so this thread stays an accessor until then.
    if (op->acknowledged) open_gate(d, op, awaits_acks, true);
    advance(d, op);
  } else {
    finish_transfer(d, op);
  }
}

void end_awaiting(device& d, int peer, uint32_t handle, awaited_packets awaited, failure how) {
  (void)visit_operation(d, handle, awaited, peer, [how](operation* op, uint8_t) {
    if (!op->gate.close()) return false;
    op->fail_as(how);
    return true;
  });
}

}  // namespace lci::core
