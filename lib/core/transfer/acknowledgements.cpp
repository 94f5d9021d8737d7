// Messages with remote completion: the target acknowledges their delivery, and the ack ends the operation.
#include "lib/core/device/device.hpp"
#include "lib/core/device/gates.hpp"
#include "lib/core/device/receive.hpp"
#include "lib/core/device/sending.hpp"
#include "lib/core/device/signals.hpp"
#include "lib/core/device/unexpected_messages.hpp"
#include "lib/core/operation/fill_receive.hpp"
#include "lib/core/transfer/handlers.hpp"
#include "lib/core/transfer/transfers.hpp"

namespace lci::core {

void send_ack(device& d, int peer, uint64_t operation, uint8_t policy) {
  wire::header ack;
  ack.what = wire::kind::ack;
  ack.policy = policy;
  ack.tag = operation;
  send_or_queue(d, peer, ack);
}

bool receive_ack(device& d, int peer, wire::message& m) {
  const uint8_t policy = m.head.policy;
  const auto count = [policy](operation* op, uint8_t kind) {
    // A receiver that reads sends no RTR or FIN, only the ack, and only if the operation asked for one.
    if (kind == awaits_receiver && !op->acknowledged) return false;
    if (policy != 0) op->fail_as(failure_said_by(policy));  // before the last ack is counted
    const uint64_t left = op->take_from_left(1);
    if (left == 1) (void)op->gate.close();
    return left != 0;
  };
  return visit_operation(d, static_cast<uint32_t>(m.head.tag), awaits_acks | awaits_receiver, peer, count);
}

bool receive_acked(device& d, int peer, wire::message& m) {
  wire::ack_body body;
  if (!wire::take_body(m, body)) return false;
  enum class state { waits, delivered, no_memory } now = state::waits;
  // Acknowledges also if a handler throws: the message has been delivered to it. An exception of any other object, or
  // of an allocator, means that it has not.
  struct answer {
    device& by;
    int peer;
    uint64_t operation;
    const state& now;
    ~answer() {
      if (now != state::waits) send_ack(by, peer, operation, now == state::delivered ? uint8_t{0} : wire::no_memory);
    }
  } const answer{d, peer, body.operation, now};
  const auto fail_for_lack_of_memory = [&] {
    now = state::no_memory;
    count_undelivered(d, peer, m.size);
  };
  if (m.head.what == wire::kind::am_acked) {
    const rcomp_table::target to = d.rt.rcomps.find_target(m.head.word);
    if (to.comp == nullptr) {
      send_ack(d, peer, body.operation, wire::refused);
      count_rejected(d);
      report_undelivered(d, m.head.word, peer, wire::tag_of(m.head), m.size);
      return true;
    }
    now = state::delivered;
    const attr_comp_type_t type = to.comp->attr.comp_type;
    try {
      if (to.comp->attr.am_in_place)
        to.comp->signal(arrived_status(peer, m.data, m.size, wire::tag_of(m.head)));
      else if (!deliver_copy(d, to, peer, wire::tag_of(m.head), m.data, m.size))
        fail_for_lack_of_memory();
    } catch (const resource_error&) {
      if (may_post(type)) throw;
      fail_for_lack_of_memory();
    }
    return true;
  }
  matching_engine* engine = d.rt.engines.get(m.head.engine);
  if (LCI_UNLIKELY(engine == nullptr)) {
    const early result = store_early(d, peer, m.head, m.data, m.size, body.operation);
    if (result == early::rejected) return send_ack(d, peer, body.operation, wire::refused), false;
    if (result == early::no_memory) fail_for_lack_of_memory();
    if (result != early::allocated) return true;
    engine = d.rt.engines.get(m.head.engine);
    if (engine == nullptr)
      return send_ack(d, peer, body.operation, wire::cancelled), true;  // this rank has freed the engine since
  }
  const uint64_t key = engine->make_key(peer, wire::tag_of(m.head), static_cast<matching_policy_t>(m.head.policy));
  void* match = engine->take(key, matching_entry_type_t::recv);
  if (match == nullptr &&
      !file_unexpected(d, *engine, key, peer, wire::tag_of(m.head), m.data, m.size, body.operation, match))
    fail_for_lack_of_memory();
  if (match == nullptr) return true;  // the thread that posts the receive sends the ack
  now = state::delivered;
  auto* const op = static_cast<operation*>(match);
  const bool keeps_status = op->comp != nullptr && !may_post(op->comp->attr.comp_type);
  try {
    if (end_receive(d, d.rt.operations, op, peer, wire::tag_of(m.head), m.data, m.size) == errorcode_t::no_memory)
      now = state::no_memory;
  } catch (...) {
    // The data is there, but its status is lost: an error at both ends.
    if (keeps_status) fail_for_lack_of_memory();
    throw;
  }
  return true;
}

}  // namespace lci::core
