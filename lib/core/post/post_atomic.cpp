// Posting atomic operations: executed at once where the memory is mapped in this process, else requested from
// the target.
#include "lib/core/device/gates.hpp"
#include "lib/core/device/in_progress.hpp"
#include "lib/core/device/sending.hpp"
#include "lib/core/device/signals.hpp"
#include "lib/core/post/begin_post.hpp"
#include "lib/core/post/direct.hpp"
#include "lib/core/post/post_common.hpp"
#include "lib/core/transfer/atomics.hpp"

namespace lci::core {

namespace {

status_t atomic_status(const post_atomic_args& a, errorcode_t code) {
  return make_status(code, a.rank, a.result, size_of(a.type), 0, a.user_context);
}

/// The enumerator's name, or the number of an invalid value.
template <class Enum>
std::string name_of(Enum value, Enum last) {
  return value >= Enum{} && value <= last ? to_string(value) : std::to_string(static_cast<int>(value));
}

LCI_COLD void reject_arguments(const device& d, const post_atomic_args& a) {
  const char* const what = "post_atomic";
  if (static_cast<unsigned>(a.rank) >= static_cast<unsigned>(d.n_peers))
    throw_invalid(what, "rank", std::to_string(a.rank), "0.." + std::to_string(d.n_peers - 1));
  if (!is_supported(a.op, a.type))
    throw_invalid(what, "op", name_of(a.op, atomic_op_t::bit_xor) + " on " + name_of(a.type, atomic_type_t::float64),
                  "one of atomic_op_t on one of atomic_type_t", "bit operations take integers only");
  const bool reads_only = a.op == atomic_op_t::fetch;
  if (a.operand == nullptr && !reads_only)
    throw_invalid(what, "operand", "nullptr", "an address", "only fetch has no operand");
  if (a.result == nullptr && reads_only)
    throw_invalid(what, "result", "nullptr", "an address", "fetch stores the value there");
  if (a.result != nullptr && a.op == atomic_op_t::store)
    throw_invalid(what, "result", "an address", "nullptr for store", "use swap to get the previous value");
  if (a.compare == nullptr && a.op == atomic_op_t::compare_swap)
    throw_invalid(what, "compare", "nullptr", "an address for compare_swap", "pass .compare(&expected)");
}

void check_arguments(const device& d, const post_atomic_args& a) {
  if (LCI_UNLIKELY(static_cast<unsigned>(a.rank) >= static_cast<unsigned>(d.n_peers) || !is_supported(a.op, a.type) ||
                   (a.operand == nullptr) != (a.op == atomic_op_t::fetch) || a.result == nullptr ||
                   a.op == atomic_op_t::store || a.op == atomic_op_t::compare_swap))
    reject_arguments(d, a);
  d.failures.check(a.rank);
  const size_t size = size_of(a.type);
  check_remote("post_atomic", d, a.rmr, a.remote_disp, size);
  if (LCI_UNLIKELY((a.rmr.base + a.remote_disp) % size != 0))
    throw_invalid("post_atomic", "remote_disp", std::to_string(a.remote_disp),
                  "an offset to an address divisible by " + std::to_string(size),
                  "the range begins at " + std::to_string(a.rmr.base));
}

uint64_t operand_of(const post_atomic_args& a) {
  return a.operand == nullptr ? 0 : bits_of(a.operand, size_of(a.type));
}
uint64_t compare_of(const post_atomic_args& a) {
  return a.op == atomic_op_t::compare_swap ? bits_of(a.compare, size_of(a.type)) : 0;
}

status_t apply_here(device& d, const post_atomic_args& a, void* at) {
  const uint64_t before = apply_atomic(a.op, a.type, at, operand_of(a), compare_of(a));
  if (a.result != nullptr) std::memcpy(a.result, &before, size_of(a.type));
  if (!signals_when_done(a)) return atomic_status(a, errorcode_t::done);
  signal_from_post(d, a.local_comp.p_impl, atomic_status(a, errorcode_t::done));
  return errorcode_t::posted;
}

/// Sends the request; the target's reply ends the operation.
LCI_NOINLINE status_t request(device& d, post_atomic_args& a) {
  const bool retry_allowed = may_retry(a);
  if (!retry_allowed) await_room(d, a);
  if (d.backlog.holds_back(a.rank) && retry_allowed) return errorcode_t::retry_backlog;
  blocking_guard wait("post_atomic", d, a);
  operation* op = d.rt.operations.allocate_blank();
  if (LCI_UNLIKELY(op == nullptr)) return too_many_operations(retry_allowed);
  op->belong_to(&d);
  op->comp = can_signal(a.local_comp) ? a.local_comp.p_impl : nullptr;
  op->status = atomic_status(a, errorcode_t::done);
  if (LCI_UNLIKELY(a.operation != nullptr)) name_operation(d, op, a).release(d);
  op->become(op_state::atomic);
  wire::framed<wire::atomic_body> message;
  message.head.what = wire::kind::atomic_request;
  message.head.engine = wire::pack_atomic(a.op, a.type);
  message.head.tag = op->handle();
  message.body = {a.rmr.base + a.remote_disp, a.rmr.opaque_rkey, operand_of(a), compare_of(a)};
  d.count_in(op);
  {
    const inside_post mark(d);
    open_gate(d, op, awaits_reply);
    send_request(d, a.rank, static_cast<uint32_t>(message.head.tag), awaits_reply, message);
  }
  return wait.result(errorcode_t::posted);
}

status_t post_atomic_any(post_atomic_args& a) {
  device& d = *a.device.p_impl;
  check_arguments(d, a);
  if (void* at = mapped_target(d, a, size_of(a.type)); LCI_LIKELY(at != nullptr)) return apply_here(d, a, at);
  return request(d, a);
}

}  // namespace

status_t post_atomic(post_atomic_args& a) { return begin_post(post_kind::atomic, a, post_atomic_any); }

}  // namespace lci::core
