// cancel(), deadlines that expire, and the messages by which a rendezvous is withdrawn.
#include "generated/core_operations.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/operation/ticket.hpp"

namespace lci::core {

bool cancel(cancel_args& a) {
  if (a.operation.is_empty()) return false;
  return static_cast<ticket*>(a.operation.impl)->cancel(a.operation.serial, errorcode_t::cancelled);
}

bool device::end_what_is_due() {
  const auto due = deadlines.take_due();
  for (const timers::entry& e : due) e.who->cancel(e.serial, errorcode_t::timed_out);
  return !due.empty();
}

bool device::receive_withdrawal(int peer, wire::message& m) {
  wire::ack_body body;
  if (!wire::take_body(m, body)) return false;
  matching_engine* engine = rt.engines.get(m.head.engine);
  if (engine == nullptr) return false;
  const uint64_t key =
      engine->make_key(peer, wire::tag_of(m.head), static_cast<matching_policy_t>(m.head.policy));
  void* found = nullptr;
  engine->remove_if(key, matching_entry_type_t::send, [&](void* entry) {
    const auto* u = static_cast<unexpected*>(entry);
    if (found != nullptr || !u->rendezvous || u->peer != peer ||
        u->rts.operation != body.operation)
      return false;
    found = entry;
    return true;
  });
  if (found != nullptr) {
    auto* u = static_cast<unexpected*>(found);
    const device_visit via(rt, u->device_uid, this);
    free_unexpected(via.get(), u);
  }
  send_fin(peer, body.operation, found != nullptr ? wire::cancelled : wire::not_found);
  return true;
}

// Either the RTS has matched a receive, whose answer is in flight, or the withdrawal has overtaken the RTS. The sender
// can't tell which while its operation waits for RTR or FIN, so it withdraws again.
bool device::receive_not_found(int peer, uint64_t word) {
  visit(static_cast<uint32_t>(word), awaits_receiver, peer, [&](operation* op, uint8_t) {
    if (!op->named) return false;
    const auto again = ticket_of(op).withdrawal();
    if (again.body.operation == word) send_or_queue(peer, again);
    return true;
  });
  return true;  // also if the operation has got its answer meanwhile: the message was well-formed
}

}  // namespace lci::core
