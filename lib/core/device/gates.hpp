// The gates of a device's operations, through which packets that name an operation reach it.
#pragma once

#include <cstdint>
#include <exception>

#include "lib/core/device/device.hpp"

namespace lci::core {

/// Opens the operation's gate: from now on packets may name it. Threads that handle them see all that its owner
/// wrote before. Afterwards the caller no longer owns it, unless it stays an accessor (`stay`).
void open_gate(device& d, operation* op, awaited_packets awaited, bool stay = false);
/// Ends an access. The last accessor of a closed gate owns the operation and continues or ends it.
void leave_gate(device& d, operation* op);

/// Ends an operation that waits for packets of these kinds, unless it has ended already.
LCI_COLD void end_awaiting(device& d, int peer, uint32_t handle, awaited_packets awaited, failure how);

/// Handles a packet from `peer` that names an operation: `act(op, kind)` does what the packet says, or returns false.
/// Returns false if no operation with this peer waits for a packet of a kind in `awaited`, or `act` returned false.
template <class Act>
bool visit_operation(device& d, uint32_t handle, uint8_t awaited, int peer, Act act) {
  const auto [op, kind] = d.rt.operations.enter(&d, handle, awaited);
  if (op == nullptr) return false;
  const bool good = op->status.rank == peer && act(op, kind);
  leave_gate(d, op);
  return good;
}

/// Ends the operations that wait for an answer and for which `which(op)` is true. Returns the first exception of
/// a handler.
template <class F>
std::exception_ptr end_all_awaiting(device& d, failure how, F which) {
  std::exception_ptr thrown;
  d.rt.operations.enter_each(&d, [&](operation_table::visit v) {
    if (which(static_cast<const operation*>(v.op)) && v.op->gate.close()) v.op->fail_as(how);
    try {
      leave_gate(d, v.op);
    } catch (...) {
      if (thrown == nullptr) thrown = std::current_exception();
    }
  });
  return thrown;
}

}  // namespace lci::core
