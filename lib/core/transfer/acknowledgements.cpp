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

namespace {

/// A message that its sender wants acknowledged. The destructor sends the ack, also if a handler throws: the message
/// has been delivered to it. An exception of any other object, or of an allocator, means that it has not: then the
/// caller calls lose().
struct acked_delivery {
  device& by;
  const int peer;
  const uint64_t operation;  // the sender's
  const size_t size;         // of the payload
  enum class state : uint8_t { waits, delivered, no_memory } now = state::waits;

  acked_delivery(device& d, int from, uint64_t op, size_t n) : by(d), peer(from), operation(op), size(n) {}
  ~acked_delivery() {
    if (now != state::waits) send_ack(by, peer, operation, now == state::delivered ? uint8_t{0} : wire::no_memory);
  }
  acked_delivery(const acked_delivery&) = delete;
  acked_delivery& operator=(const acked_delivery&) = delete;

  /// There is no memory for the message.
  void lose() {
    now = state::no_memory;
    count_undelivered(by, peer, size);
  }
};

void receive_acked_am(acked_delivery& delivery, const wire::message& m) {
  device& d = delivery.by;
  const int peer = delivery.peer;
  const rcomp_table::target to = d.rt.rcomps.find_target(m.head.word);
  if (to.comp == nullptr) {
    send_ack(d, peer, delivery.operation, wire::refused);
    count_rejected(d);
    return report_undelivered(d, m.head.word, peer, wire::tag_of(m.head), m.size);
  }
  delivery.now = acked_delivery::state::delivered;
  const attr_comp_type_t type = to.comp->attr.comp_type;
  try {
    if (to.comp->attr.am_in_place)
      to.comp->signal(arrived_status(peer, m.data, m.size, wire::tag_of(m.head)));
    else if (!deliver_copy(d, to, peer, wire::tag_of(m.head), m.data, m.size))
      delivery.lose();
  } catch (const resource_error&) {
    if (may_post(type)) throw;
    delivery.lose();
  }
}

/// Returns the matching engine that the header of a send names. Null if this rank has none: then the message has been
/// stored, lost or refused; `good` is false if no engine can have that number.
matching_engine* find_engine_or_store(acked_delivery& delivery, const wire::message& m, bool& good) {
  device& d = delivery.by;
  if (matching_engine* const engine = d.rt.engines.get(m.head.engine); LCI_LIKELY(engine != nullptr)) return engine;
  switch (store_early(d, delivery.peer, m.head, m.data, m.size, delivery.operation)) {
    case early::stored:
      return nullptr;
    case early::no_memory:
      return delivery.lose(), nullptr;
    case early::rejected:
      good = false;
      return send_ack(d, delivery.peer, delivery.operation, wire::refused), nullptr;
    case early::allocated:
      break;
  }
  matching_engine* const engine = d.rt.engines.get(m.head.engine);
  if (engine == nullptr)  // this rank has freed the engine since
    send_ack(d, delivery.peer, delivery.operation, wire::cancelled);
  return engine;
}

/// Returns false if the message is malformed.
bool receive_acked_send(acked_delivery& delivery, const wire::message& m) {
  device& d = delivery.by;
  const int peer = delivery.peer;
  bool good = true;
  matching_engine* const engine = find_engine_or_store(delivery, m, good);
  if (engine == nullptr) return good;
  const tag_t tag = wire::tag_of(m.head);
  const uint64_t key = engine->make_key(peer, tag, static_cast<matching_policy_t>(m.head.policy));
  void* match = engine->take(key, matching_entry_type_t::recv);
  if (match == nullptr && !file_unexpected(d, *engine, key, peer, tag, m.data, m.size, delivery.operation, match))
    delivery.lose();
  if (match == nullptr) return true;  // the thread that posts the receive sends the ack
  delivery.now = acked_delivery::state::delivered;
  auto* const op = static_cast<operation*>(match);
  const bool keeps_status = op->comp != nullptr && !may_post(op->comp->attr.comp_type);
  try {
    if (end_receive(d, d.rt.operations, op, peer, tag, m.data, m.size) == errorcode_t::no_memory)
      delivery.now = acked_delivery::state::no_memory;
  } catch (...) {
    // The data is there, but its status is lost: an error at both ends.
    if (keeps_status) delivery.lose();
    throw;
  }
  return true;
}

}  // namespace

bool receive_acked(device& d, int peer, wire::message& m) {
  wire::ack_body body;
  if (!wire::take_body(m, body)) return false;
  acked_delivery delivery(d, peer, body.operation, m.size);
  if (m.head.what == wire::kind::send_acked) return receive_acked_send(delivery, m);
  receive_acked_am(delivery, m);
  return true;
}

}  // namespace lci::core
