// Posting puts and gets. What happens at their target is in rma.cpp.
#include "lib/core/post_common.hpp"

namespace lci::core {

namespace {

/// A put or get, from the first piece to the signal.
template <class Args>
status_t post_rma(device& d, Args& a, op_state state, const char* what) {
  check_common(what, d, a);
  check_remote(what, d, a.rmr, a.remote_disp, a.size);
  const bool retry_allowed = may_retry(a);
  if (LCI_UNLIKELY(!d.backlog.empty()) && retry_allowed) return errorcode_t::retry_backlog;
  blocking_guard wait(what, d, a);
  operation* op = make_operation(d, a);
  if (LCI_UNLIKELY(op == nullptr)) return too_many_operations(retry_allowed);
  op->become(state);
  op->total = a.size;
  op->next_offset = 0;
  op->remote_addr = a.rmr.base + a.remote_disp;
  op->remote_key = a.rmr.opaque_rkey;
  op->signals = a.remote_comp != 0;
  op->remote_comp = a.remote_comp;
  if (d.limits.local_registration && a.size > 0 && op->reg.lkey == 0) register_buffer(d, op, a);
  d.pending.fetch_add(1, std::memory_order_relaxed);
  errorcode_t result;
  try {
    result = d.start_rma(op);
  } catch (const resource_error&) {
    d.forget(op);
    throw;
  }
  switch (result) {
    case errorcode_t::posted:
    case errorcode_t::posted_backlog:
      return wait.result(result);
    case errorcode_t::done:
      if (op->signals) d.send_signal(*op);
      d.forget(op);
      return wait.result(answer_done(d, a, buffer_of(a)));
    case errorcode_t::fatal:
      d.forget(op);
      throw_peer_failure(a.rank);
    default:
      if (retry_allowed) {
        d.forget(op);
        return result;
      }
      op->pieces.store(1, std::memory_order_relaxed);
      d.resume_later(op);
      return wait.result(errorcode_t::posted_backlog);
  }
}

}  // namespace

status_t post_put(post_put_args& a) {
  return post_rma(*a.device.p_impl, a, op_state::put, "post_put");
}

status_t post_get(post_get_args& a) {
  return post_rma(*a.device.p_impl, a, op_state::get, "post_get");
}

}  // namespace lci::core
