// Posting puts and gets. Their target's side is in rma.cpp.
#include <new>

#include "lib/base/copy_bytes.hpp"
#include "lib/core/device/in_progress.hpp"
#include "lib/core/post/begin_post.hpp"
#include "lib/core/post/direct.hpp"
#include "lib/core/post/post_common.hpp"
#include "lib/core/post/post_layout.hpp"
#include "lib/core/transfer/transfers.hpp"

namespace lci::core {

namespace {

template <class Args>
void signal_target(device& d, const Args& a) {
  send_signal(d, a.rank, a.remote_comp, a.tag, a.rmr.base + a.remote_disp, a.size);
}

/// Makes the operation put a copy of the data, so that the program gets its buffer back at the deadline. If there is no
/// memory for the copy, releases the operation and throws std::bad_alloc.
LCI_COLD void copy_source(device& d, operation* op) {
  void* const copy = g_allocator_default.allocate(op->status.size);
  if (copy == nullptr) {
    ticket_of(op).retire();
    d.rt.operations.release(op);
    throw std::bad_alloc();
  }
  copy_bytes(copy, op->status.buffer, op->status.size);
  op->status.buffer = copy;
  op->allocator = &g_allocator_default;
  op->copied = op->in_place = true;
  op->reg = {};
}

LCI_COLD void reject_ordered() {
  throw_invalid(
      "post_put", "ordered", "true", "false on this device",
      "its attribute ordered_puts is false: wait until a put is complete before you post what must follow it");
}

/// A put or get through the network, including its signal. `in_turn`: it need not wait until the backlog is empty.
template <class Args>
status_t post_rma(device& d, Args& a, op_state state, const char* what, bool in_turn = false) {
  check_common(what, d, a);
  check_remote(what, d, a.rmr, a.remote_disp, a.size);
  const bool retry_allowed = may_retry(a);
  const bool others_wait = d.backlog.holds_back(a.rank) && !in_turn;
  if (LCI_UNLIKELY(others_wait) && retry_allowed) return errorcode_t::retry_backlog;
  blocking_guard wait(what, d, a);
  operation* op = make_operation(d, a);
  if (LCI_UNLIKELY(op == nullptr)) return too_many_operations(retry_allowed);
  way_in_time in_time = way_in_time::usual;
  if (LCI_UNLIKELY(a.operation != nullptr)) {
    name_operation(d, op, a);
    if (a.size > 0) in_time = way_to_end_in_time(d, a);
    if (in_time == way_in_time::from_copy) copy_source(d, op);
  }
  op->become(state);
  op->total = a.size;
  op->next_offset = 0;
  op->remote_addr = a.rmr.base + a.remote_disp;
  op->remote_key = a.rmr.opaque_rkey;
  op->signals = a.remote_comp != 0;
  op->in_order = is_ordered(a);
  op->remote_comp = a.remote_comp;
  if (d.limits.local_registration && a.size > 0 && op->reg.lkey == 0) register_buffer(d, op, a);
  d.count_in(op);
  // An ordered put must not overtake what waits, which may be another one.
  const bool waits_for_turn = LCI_UNLIKELY(others_wait && is_ordered(a));
  op->by_messages = a.size > 0 && (!d.limits.rma || in_time == way_in_time::by_messages);
  if (LCI_UNLIKELY(op->copied)) ticket_of(op).release(d);
  const errorcode_t result = start_rma(d, op, waits_for_turn, in_turn);
  switch (result) {
    case errorcode_t::posted:
    case errorcode_t::posted_backlog:
      return wait.result(result);
    case errorcode_t::done:
      if (a.remote_comp != 0) signal_target(d, a);
      forget_operation(d, op);
      return wait.result(answer_done(d, a, buffer_of(a)));
    case errorcode_t::fatal:
      forget_operation(d, op);
      throw_peer_failure(d, a.rank);
    default:
      if (retry_allowed) {
        forget_operation(d, op);
        return result;
      }
      op->pieces.store(1, std::memory_order_relaxed);
      {
        const inside_post mark(d);
        resume_later(d, op);
      }
      return wait.result(errorcode_t::posted_backlog);
  }
}

/// The target's memory, if it is mapped in this process (or can be) and the arguments are valid; else null.
template <class Args>
std::byte* direct_target(const device& d, const Args& a) {
  if (a.tag > max_tag || (a.local_buffer == nullptr && a.size != 0)) return nullptr;
  return mapped_target(d, a, a.size);
}

void count_vectors(const device& d, int rank, size_t size) {
  if (d.observer != nullptr && d.observer->counts != nullptr)
    d.observer->counts->add(counted::copied_by_vectors, rank, size);
}

/// Ends a put or get whose bytes have been copied: signals the target, and completes.
template <class Args>
status_t finish_direct(device& d, const Args& a) {
  if (a.remote_comp != 0) signal_target(d, a);
  return answer_done(d, a, buffer_of(a));
}

LCI_NOINLINE status_t post_put_general(post_put_args& a) {
  if (LCI_UNLIKELY(a.ordered) && !a.device.p_impl->attr.ordered_puts) reject_ordered();
  if (a.layout != nullptr || a.remote_layout != nullptr) return post_put_layout(a);
  device& d = *a.device.p_impl;
  if (std::byte* to = direct_target(d, a)) {
    if (LCI_UNLIKELY(copy_directly(to, a.local_buffer, a.size))) count_vectors(d, a.rank, a.size);
    return finish_direct(d, a);
  }
  return post_rma(d, a, op_state::put, "post_put");
}

LCI_NOINLINE status_t post_get_general(post_get_args& a) {
  if (a.layout != nullptr || a.remote_layout != nullptr) return post_get_layout(a);
  device& d = *a.device.p_impl;
  if (const std::byte* from = direct_target(d, a)) {
    if (LCI_UNLIKELY(copy_directly(a.local_buffer, from, a.size))) count_vectors(d, a.rank, a.size);
    return finish_direct(d, a);
  }
  return post_rma(d, a, op_state::get, "post_get");
}

}  // namespace

status_t post_put_piece(post_put_args& a) { return post_put_general(a); }
status_t post_get_piece(post_get_args& a) { return post_get_general(a); }
status_t post_put_in_turn(post_put_args& a) { return post_rma(*a.device.p_impl, a, op_state::put, "post_put", true); }

status_t post_put(post_put_args& a) { return begin_post(post_kind::put, a, post_put_general); }

status_t post_get(post_get_args& a) { return begin_post(post_kind::get, a, post_get_general); }

}  // namespace lci::core
