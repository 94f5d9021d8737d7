// Atomic operations: their instructions, and the request and reply for memory that the origin has not mapped.
#include "lib/core/transfer/atomics.hpp"

#include <atomic>
#include <bit>
#include <type_traits>

#include "lib/core/device/device.hpp"
#include "lib/core/device/gates.hpp"
#include "lib/core/device/sending.hpp"
#include "lib/core/operation/ticket.hpp"
#include "lib/core/transfer/handlers.hpp"

namespace lci::core {

namespace {

/// Compares bits: 0.0 and -0.0 differ, and a NaN equals itself.
template <class Bits>
uint64_t compare_and_swap(void* at, uint64_t operand, uint64_t compare) {
  auto expected = static_cast<Bits>(compare);
  std::atomic_ref<Bits>(*static_cast<Bits*>(at))
      .compare_exchange_strong(expected, static_cast<Bits>(operand), std::memory_order_seq_cst,
                               std::memory_order_seq_cst);
  return expected;
}

template <class Bits>
uint64_t apply_to_bits(atomic_op_t op, void* at, uint64_t operand, uint64_t compare) {
  const std::atomic_ref<Bits> value(*static_cast<Bits*>(at));
  const auto n = static_cast<Bits>(operand);
  constexpr auto order = std::memory_order_seq_cst;
  switch (op) {
    case atomic_op_t::fetch:
      return value.load(order);
    case atomic_op_t::store:
      value.store(n, order);
      return 0;
    case atomic_op_t::swap:
      return value.exchange(n, order);
    case atomic_op_t::compare_swap:
      return compare_and_swap<Bits>(at, operand, compare);
    case atomic_op_t::add:
      return value.fetch_add(n, order);
    case atomic_op_t::bit_and:
      return value.fetch_and(n, order);
    case atomic_op_t::bit_or:
      return value.fetch_or(n, order);
    case atomic_op_t::bit_xor:
      return value.fetch_xor(n, order);
  }
  return 0;
}

template <class Float, class Bits>
uint64_t add_float(void* at, uint64_t operand) {
  const Float n = std::bit_cast<Float>(static_cast<Bits>(operand));
  return std::bit_cast<Bits>(std::atomic_ref<Float>(*static_cast<Float*>(at)).fetch_add(n, std::memory_order_seq_cst));
}

}  // namespace

uint64_t apply_atomic(atomic_op_t op, atomic_type_t type, void* at, uint64_t operand, uint64_t compare) {
  // Two's complement: signed and unsigned addition are the same.
  if (LCI_UNLIKELY(op == atomic_op_t::add && !is_integer(type)))
    return type == atomic_type_t::float32 ? add_float<float, uint32_t>(at, operand)
                                          : add_float<double, uint64_t>(at, operand);
  return size_of(type) == 8 ? apply_to_bits<uint64_t>(op, at, operand, compare)
                            : apply_to_bits<uint32_t>(op, at, operand, compare);
}

bool receive_atomic(device& d, int peer, wire::message& m) {
  wire::atomic_body body;
  if (!wire::take_body(m, body)) return false;
  const atomic_op_t op = wire::atomic_op_of(m.head);
  const atomic_type_t type = wire::atomic_type_of(m.head);
  const bool good = is_supported(op, type) && body.addr % size_of(type) == 0;
  void* at = good ? d.ranges.find(body.rkey, body.addr, size_of(type), true) : nullptr;
  wire::framed<wire::atomic_result> reply;
  reply.head.what = wire::kind::atomic_reply;
  reply.head.tag = m.head.tag;
  reply.head.policy = at == nullptr ? wire::refused : 0;
  reply.body.value = at == nullptr ? 0 : apply_atomic(op, type, at, body.operand, body.compare);
  send_or_queue(d, peer, reply);
  return at != nullptr;
}

bool receive_atomic_reply(device& d, int peer, wire::message& m) {
  wire::atomic_result body;
  if (!wire::take_body(m, body)) return false;
  const bool refused = m.head.policy == wire::refused;
  return visit_operation(d, static_cast<uint32_t>(m.head.tag), awaits_reply, peer, [&](operation* op, uint8_t) {
    if (!op->gate.close()) return false;
    if (refused) {
      op->fail_as(failure::fatal);
    } else if (op->status.buffer != nullptr && (!op->named || ticket_of(op).hold())) {
      std::memcpy(op->status.buffer, &body.value, op->status.size);
      if (op->named) ticket_of(op).release(d);
    }
    return true;
  });
}

}  // namespace lci::core
