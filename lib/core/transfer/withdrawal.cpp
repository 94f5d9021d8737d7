// The messages by which the sender of a rendezvous withdraws its RTS when its operation is cancelled.
#include "lib/core/device/device.hpp"
#include "lib/core/device/device_visit.hpp"
#include "lib/core/device/gates.hpp"
#include "lib/core/device/sending.hpp"
#include "lib/core/match/unexpected.hpp"
#include "lib/core/operation/ticket.hpp"
#include "lib/core/transfer/handlers.hpp"
#include "lib/core/transfer/transfers.hpp"

namespace lci::core {

bool receive_withdrawal(device& d, int peer, wire::message& m) {
  wire::ack_body body;
  if (!wire::take_body(m, body)) return false;
  matching_engine* engine = d.rt.engines.get(m.head.engine);
  if (engine == nullptr && !engine_table::is_number(m.head.engine)) return false;
  unexpected* found = nullptr;
  const auto is_withdrawn = [&](unexpected& u) {
    if (found != nullptr || !u.rendezvous || u.peer != peer || u.rts.operation != body.operation) return false;
    found = &u;
    return true;
  };
  if (engine == nullptr) {
    // If another thread allocates the engine at the same time, this search may miss the message. The sender then
    // withdraws again.
    d.rt.engines.remove_stored(m.head.engine, is_withdrawn);
  } else {
    const uint64_t key = engine->make_key(peer, wire::tag_of(m.head), static_cast<matching_policy_t>(m.head.policy));
    engine->remove_if(key, matching_entry_type_t::send,
                      [&](void* entry) { return is_withdrawn(*static_cast<unexpected*>(entry)); });
  }
  if (found != nullptr) {
    const device_visit via(d.rt, found->device_uid, &d);
    free_unexpected(via.get(), found);
  }
  send_fin(d, peer, body.operation, found != nullptr ? wire::cancelled : wire::not_found);
  return true;
}

// Either the RTS has matched a receive, whose answer is in flight, or the withdrawal has overtaken the RTS. The sender
// can't distinguish them while its operation waits for RTR or FIN, so it withdraws again.
bool receive_not_found(device& d, int peer, uint64_t word) {
  visit_operation(d, static_cast<uint32_t>(word), awaits_receiver, peer, [&](operation* op, uint8_t) {
    if (!op->named) return false;
    const auto again = ticket_of(op).withdrawal();
    if (again.body.operation == word) send_or_queue(d, peer, again);
    return true;
  });
  return true;  // also if the operation has got its answer meanwhile: the message was well-formed
}

}  // namespace lci::core
