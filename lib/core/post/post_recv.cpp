// Posting receives: each is inserted into the matching engine, unless a message that has arrived matches it.
#include <new>

#include "lib/core/device/device_visit.hpp"
#include "lib/core/device/in_progress.hpp"
#include "lib/core/device/signals.hpp"
#include "lib/core/device/unexpected_messages.hpp"
#include "lib/core/match/unexpected.hpp"
#include "lib/core/operation/fill_receive.hpp"
#include "lib/core/post/begin_post.hpp"
#include "lib/core/post/post_common.hpp"
#include "lib/core/post/post_layout.hpp"
#include "lib/core/transfer/transfers.hpp"

namespace lci::core {

namespace {

LCI_COLD void check_allocating(const post_recv_args& a) {
  if (a.local_buffer != nullptr || a.size != 0)
    throw_invalid("post_recv", "allocate", "true", "false for a receive with a buffer",
                  "pass no local_buffer and size 0, and find the buffer in the status");
  if (a.layout != nullptr)
    throw_invalid("post_recv", "allocate", "true", "false for a receive with a layout",
                  "allocated memory is contiguous");
}

/// Signals a receive whose message the device `uid` is to acknowledge, as `no_memory` if the status can't be stored.
LCI_COLD void signal_and_acknowledge(device& d, int uid, comp_impl_t* comp, const status_t& status,
                                     uint64_t operation) {
  const auto acknowledge = [&](uint8_t policy) {
    if (status.error == errorcode_t::no_memory) policy = wire::no_memory;
    const device_visit via(d.rt, uid, &d);
    if (via.get() != nullptr) send_ack(*via.get(), status.rank, operation, policy);
  };
  const bool keeps_status = !may_post(comp->attr.comp_type);
  if (!keeps_status) acknowledge(0);  // a handler has the message, whatever it throws
  try {
    signal_from_post(d, comp, status);
  } catch (...) {
    if (keeps_status) acknowledge(wire::no_memory);
    throw;
  }
  if (keeps_status) acknowledge(0);
}

/// Completes a receive that matched an unexpected message, or begins its rendezvous.
LCI_NOINLINE status_t receive_unexpected(device& d, operation* op, bool allow_done, unexpected* u) {
  if (!u->rendezvous) {
    const status_t status = fill_receive(d, *op, u->peer, u->tag, u->payload(), u->size);
    const uint64_t ack = u->rts.operation;
    const int uid = u->device_uid;
    comp_impl_t* comp = op->comp;
    const bool signals = !allow_done && comp != nullptr;
    const bool acknowledges = LCI_UNLIKELY((ack & wire::wants_ack) != 0);
    {
      const device_visit via(d.rt, uid, &d);
      free_unexpected(via.get(), u);
      if (acknowledges && !signals && via.get() != nullptr)
        send_ack(*via.get(), status.rank, ack, status.error == errorcode_t::no_memory ? wire::no_memory : uint8_t{0});
    }
    const bool named = op->named;
    d.rt.operations.release(op);
    if (!signals) {
      if (named) static_cast<ticket*>(comp)->retire();
      return status;
    }
    if (acknowledges)
      signal_and_acknowledge(d, uid, comp, status, ack);
    else
      signal_from_post(d, comp, status);
    return errorcode_t::posted;
  }
  // The device through which the RTS arrived sends the answer, unless it has been freed.
  const device_visit via(d.rt, u->device_uid, &d);
  const int peer = u->peer;
  const tag_t tag = u->tag;
  const wire::rts_body rts = u->rts;
  const bool cancelled = u->cancelled;
  free_unexpected(via.get(), u);
  const inside_post mark(d);
  if (LCI_UNLIKELY(cancelled || via.get() == nullptr))
    cancel_receive(d, op, peer, tag);
  else
    start_receive(*via.get(), op, peer, tag, rts);
  return errorcode_t::posted;
}

/// Removes an unmatched receive for which `is_it` is true, and releases its operation. Returns false if there is none.
template <class F>
bool withdraw_receive(device& d, matching_engine& engine, uint64_t key, F is_it) {
  operation* found = nullptr;
  engine.remove_if(key, matching_entry_type_t::recv, [&](void* entry) {
    auto* op = static_cast<operation*>(entry);
    if (found != nullptr || !is_it(op)) return false;
    found = op;
    return true;
  });
  if (found == nullptr) return false;
  if (found->named) ticket_of(found).retire();
  d.rt.operations.release(found);
  return true;
}

/// A failure of the peer ends the receives posted before it. One posted at the same time may be missed, so its post
/// checks afterwards.
LCI_COLD void check_peer_of(device& d, const operation* op, uint32_t handle, matching_engine& engine, uint64_t key,
                            int rank) {
  if (d.failures.has_failed(rank) &&
      withdraw_receive(d, engine, key, [&](operation* o) { return o == op && o->handle() == handle; }))
    d.failures.throw_fatal(rank);
}

/// Inserts the receive of an operation that the caller owns alone, from `rank` if the key contains a rank. Returns the
/// unexpected message that matches it; or null, and then the operation may have ended already.
LCI_ALWAYS_INLINE inline unexpected* file(device& d, operation* op, matching_engine& engine, uint64_t key, int rank,
                                          bool rank_counts) {
  const uint32_t handle = op->handle();
  void* match;
  try {
    match = engine.insert(key, op, matching_entry_type_t::recv);
  } catch (const std::bad_alloc&) {
    if (op->named) ticket_of(op).retire();
    d.rt.operations.release(op);
    throw_no_memory(post_kind::recv);
  }
  if (LCI_UNLIKELY(match != nullptr)) return static_cast<unexpected*>(match);
  if (LCI_UNLIKELY(d.failures.may_be_any()) && rank_counts) check_peer_of(d, op, handle, engine, key, rank);
  return nullptr;
}

/// Posts a receive. `shaped`: into a buffer with a layout.
template <bool shaped>
inline status_t file_receive(device& d, post_recv_args& a, matching_policy_t policy, bool retry_allowed) {
  operation* op = make_operation(d, a);
  if (LCI_UNLIKELY(op == nullptr)) return too_many_operations(retry_allowed);
  op->become(op_state::recv_posted);
  if (LCI_UNLIKELY(a.allocate)) {
    op->allocates = true;
    op->allocator = nullptr;
  }
  if constexpr (shaped) give_shape(d.rt.operations, op, *a.layout);
  if (!looks_at_rank(policy)) op->status.rank = ANY_SOURCE;
  matching_engine& engine = *a.matching_engine.p_impl;
  const uint64_t key = engine.make_key(a.rank, a.tag, policy);
  if (LCI_UNLIKELY(a.operation != nullptr)) name_operation(d, op, a).filed_in(engine, key);
  unexpected* u = file(d, op, engine, key, a.rank, looks_at_rank(policy));
  if (LCI_UNLIKELY(u != nullptr)) return receive_unexpected(d, op, a.allow_done, u);
  return errorcode_t::posted;
}

template <bool shaped>
LCI_NOINLINE status_t post_recv_waiting(device& d, post_recv_args& a, matching_policy_t policy) {
  const bool retry_allowed = may_retry(a);
  blocking_guard wait("post_recv", d, a);
  return wait.result(file_receive<shaped>(d, a, policy, retry_allowed), [&] {
    matching_engine& engine = *a.matching_engine.p_impl;
    return withdraw_receive(d, engine, engine.make_key(a.rank, a.tag, policy),
                            [&](operation* op) { return comp_of(op) == wait.comp(); });
  });
}

template <bool shaped>
inline status_t post_recv_any(post_recv_args& a) {
  device& d = *a.device.p_impl;
  matching_policy_t policy = a.matching_policy;
  if (LCI_UNLIKELY(a.rank == ANY_SOURCE || a.tag == ANY_TAG)) policy = wildcard_policy(a.rank, a.tag, policy);
  if (LCI_UNLIKELY(a.allocate)) check_allocating(a);
  if (LCI_UNLIKELY(!valid_receive(d, a, policy) && !(shaped && valid_receive(d, with_some_buffer(a), policy))))
    reject_receive(d, a, policy);
  if (LCI_UNLIKELY(!a.allow_posted || !can_signal(a.local_comp))) return post_recv_waiting<shaped>(d, a, policy);
  return file_receive<shaped>(d, a, policy, may_retry(a));
}

/// What file_receive() returns a pointer to.
constinit thread_local status_t tls_receive_status;

LCI_ALWAYS_INLINE inline void set_up_receive(device& d, operation* op, uint64_t terms, void* buffer, size_t size,
                                             comp_impl_t* comp, void* user_context) {
  constexpr uint64_t rank_mask = (uint64_t{1} << detail::receive_terms::rank_bits) - 1;
  op->status = make_status(errorcode_t::done, static_cast<int>(terms >> 32 & rank_mask), buffer, size,
                           static_cast<uint32_t>(terms), user_context);
  op->belong_to(&d);
  op->comp = comp;
  op->become(op_state::plain_recv);
}

/// Files a receive where try_insert() can't: a message may match it.
LCI_NOINLINE const status_t* file_receive_slowly(device& d, operation* op, uint64_t terms) {
  matching_engine& engine = *d.rt.default_matching_engine.p_impl;
  const int rank = op->status.rank;
  const bool tag_counts = (terms & detail::receive_terms::tag_counts) != 0;
  const uint64_t key =
      engine.make_key(rank, op->status.tag, tag_counts ? matching_policy_t::rank_tag : matching_policy_t::rank_only);
  unexpected* const u = file(d, op, engine, key, rank, true);
  if (u == nullptr) return nullptr;
  const status_t status = receive_unexpected(d, op, (terms & detail::receive_terms::allow_done) != 0, u);
  if (status.is_posted()) return nullptr;
  tls_receive_status = status;
  return &tls_receive_status;
}

/// Posts a receive where the thread's list of operations is empty.
LCI_NOINLINE const status_t* file_receive_without_operation(device& d, uint64_t terms, void* buffer, size_t size,
                                                            comp_impl_t* comp, void* user_context) {
  operation* const op = d.rt.operations.allocate_blank();
  if (LCI_UNLIKELY(op == nullptr)) {
    tls_receive_status = errorcode_t::retry_nomem;
    return &tls_receive_status;
  }
  set_up_receive(d, op, terms, buffer, size, comp, user_context);
  return file_receive_slowly(d, op, terms);
}

/// file(), after the insertion, where a peer may have failed.
LCI_COLD const status_t* check_peer_of_terms(device& d, const operation* op, uint32_t handle, uint64_t key) {
  constexpr uint64_t rank_mask = (uint64_t{1} << detail::receive_terms::rank_bits) - 1;
  check_peer_of(d, op, handle, *d.rt.default_matching_engine.p_impl, key, static_cast<int>(key >> 32 & rank_mask));
  return nullptr;
}

}  // namespace

status_t post_recv(post_recv_args& a) {
  if (LCI_UNLIKELY(a.layout != nullptr)) return post_recv_layout(a);
  return begin_post(post_kind::recv, a, post_recv_any<false>);
}

status_t post_recv_pieces(post_recv_args& a) { return begin_post(post_kind::recv, a, post_recv_any<true>); }

}  // namespace lci::core

// In the usual case it calls no function, so that no registers need saving.
const lci::status_t* lci::detail::file_receive(core::device* device, uint64_t terms, void* buffer, size_t size,
                                               comp_impl_t* comp, void* user_context) {
  core::device& d = *device;
  core::operation* const op = d.rt.operations.allocate_or_null();
  if (LCI_UNLIKELY(op == nullptr))
    return core::file_receive_without_operation(d, terms, buffer, size, comp, user_context);
  core::set_up_receive(d, op, terms, buffer, size, comp, user_context);
  core::matching_engine& engine = *d.rt.default_matching_engine.p_impl;
  if (LCI_UNLIKELY(engine.attr.make_key != nullptr)) return core::file_receive_slowly(d, op, terms);
  // As usual_key() has it: bit 62 says that the rank counts, as it always does here.
  uint64_t key = terms | uint64_t{1} << 62;
  if (LCI_UNLIKELY((terms & receive_terms::tag_counts) == 0)) key = key >> 32 << 32;
  const uint32_t handle = op->handle();
  if (LCI_UNLIKELY(!engine.try_insert(key, op, matching_entry_type_t::recv)))
    return core::file_receive_slowly(d, op, terms);
  if (LCI_UNLIKELY(d.failures.may_be_any())) return core::check_peer_of_terms(d, op, handle, key);
  return nullptr;
}
