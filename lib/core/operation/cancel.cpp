// Cancelling what was posted: the operation, and what the devices have to do with it.
#include "generated/core_operations.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/operation/ticket.hpp"

namespace lci::core {

bool cancel(cancel_args& a) {
  if (a.operation.is_empty()) return false;
  return static_cast<ticket*>(a.operation.impl)->ask(a.operation.serial, errorcode_t::cancelled);
}

bool device::end_what_is_due() {
  const auto due = deadlines.take_due();
  for (const timers::entry& e : due) e.who->ask(e.serial, errorcode_t::timed_out);
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

// The request has met a receive, whose answer is on its way; or the withdrawal has overtaken it. While
// the operation waits for its answer nobody knows which, so it is asked for again.
bool device::receive_not_found(int peer, uint64_t word) {
  visit(static_cast<uint32_t>(word), awaits_receiver, peer, [&](operation* op, uint8_t) {
    if (!op->named) return false;
    const auto again = ticket_of(op).withdrawal();
    if (again.body.operation == word) send_or_queue(peer, again);
    return true;
  });
  return true;  // also if it has been answered meanwhile
}

}  // namespace lci::core
