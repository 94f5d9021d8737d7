// Posting. Each operation checks its arguments, takes the protocol that fits the size, and hands
// one net_op to the fabric. What can't go now is a `retry`, or waits in the backlog if the caller
// forbids that.
#include <cstring>

#include "lib/base/check.hpp"
#include "lib/core/blocking.hpp"
#include "lib/core/device.hpp"
#include "lib/core/fill_receive.hpp"
#include "lib/core/make_status.hpp"
#include "lib/core/memory_region.hpp"
#include "lib/core/protocol.hpp"

namespace lci::core {

// --- the fabric's side ---

errorcode_t device::send_packet(int peer, packet* p, size_t size) {
  operation* op = rt.operations.allocate();
  if (op == nullptr) return errorcode_t::retry_nomem;
  op->belong_to(this);
  op->become(op_state::send);
  op->carrier = p;
  op->status.rank = peer;
  op->pieces.store(1, std::memory_order_relaxed);
  pending.fetch_add(1, std::memory_order_relaxed);
  network::net_op request;
  request.peer = peer;
  request.n_segments = 1;
  request.segments[0] = {&p->head, sizeof(wire::header) + size, pool_lkey(*p->pool)};
  request.context = op;
  const errorcode_t result = net->post(request);
  if (result == errorcode_t::posted) return errorcode_t::done;  // the packet is on its way
  if (result == errorcode_t::done) {
    on_complete(op);
    return errorcode_t::done;
  }
  pending.fetch_sub(1, std::memory_order_relaxed);
  rt.operations.release(op);
  return result;
}

void device::send_or_queue(int peer, const void* message, size_t size) {
  if (LCI_LIKELY(backlog.empty() && size <= limits.max_inject)) {
    network::net_op op;
    op.inject = true;
    op.peer = peer;
    op.n_segments = 1;
    op.segments[0] = {const_cast<void*>(message), size, 0};
    if (LCI_LIKELY(!error_t(net->post(op)).is_retry())) return;
  }
  backlog::item item;
  item.peer = peer;
  const auto* bytes = static_cast<const std::byte*>(message);
  item.message.assign(bytes, bytes + size);
  backlog.push(std::move(item));
}

// --- what all posts share ---

namespace {

template <class Args>
inline status_t done_status(const Args& a, void* buffer, errorcode_t code = errorcode_t::done) {
  return make_status(code, a.rank, buffer, a.size, a.tag, a.user_context);
}

/// Answers a post whose operation is over: the status, or a signal if `done` is not allowed.
template <class Args>
inline status_t answer_done(device& d, const Args& a, void* buffer,
                            errorcode_t code = errorcode_t::done) {
  status_t status = done_status(a, buffer, code);
  if (LCI_LIKELY(a.allow_done || !can_signal(a.local_comp))) return status;
  status.error = errorcode_t::done;
  d.signal_from_post(a.local_comp.p_impl, status);
  return errorcode_t::posted;
}

template <class Args>
inline void* buffer_of(const Args& a) {
  return const_cast<void*>(static_cast<const void*>(a.local_buffer));
}

/// What a post says that finds no operation left.
LCI_COLD status_t too_many_operations(bool may_retry) {
  if (may_retry) return errorcode_t::retry_nomem;
  throw_too_many_operations();
}

/// An operation that remembers what to report; null if there is none left.
template <class Args>
operation* make_operation(device& d, const Args& a) {
  const memory_region* region = is_registered(a.mr) ? a.mr.p_impl : nullptr;
  if (LCI_UNLIKELY(region != nullptr) && region->device.p_impl != &d)
    reject_registration(d, *region);
  operation* op = d.rt.operations.allocate();
  if (LCI_UNLIKELY(op == nullptr)) return nullptr;
  op->belong_to(&d);
  op->comp = can_signal(a.local_comp) ? a.local_comp.p_impl : nullptr;
  op->status = done_status(a, buffer_of(a));
  if (region != nullptr) op->reg = region->reg;
  return op;
}

/// Registers the buffer for this operation. If the network refuses, the operation never was.
template <class Args>
void register_buffer(device& d, operation* op, const Args& a) {
  try {
    op->reg = d.net->register_memory(buffer_of(a), a.size);
    op->registered = true;
  } catch (...) {
    d.rt.operations.release(op);
    throw;
  }
}

template <class Args>
LCI_COLD void reject_common(const char* what, const device& d, const Args& a) {
  if (static_cast<unsigned>(a.rank) >= static_cast<unsigned>(d.n_ranks))
    throw_invalid(what, "rank", std::to_string(a.rank), "0.." + std::to_string(d.n_ranks - 1));
  if (a.local_buffer == nullptr && a.size != 0)
    throw_invalid(what, "local_buffer", "nullptr", "an address",
                  "only messages of 0 bytes may have none (size = " + std::to_string(a.size) + ")");
  if (a.tag > max_tag)
    throw_invalid(what, "tag", std::to_string(a.tag), "0.." + std::to_string(max_tag),
                  "see the runtime's attribute max_tag");
}

/// The checks of every operation, in three compares.
template <class Args>
inline void check_common(const char* what, const device& d, const Args& a) {
  if (LCI_UNLIKELY(static_cast<unsigned>(a.rank) >= static_cast<unsigned>(d.n_ranks) ||
                   (a.local_buffer == nullptr && a.size != 0) || a.tag > max_tag))
    reject_common(what, d, a);
  d.check_peer(a.rank);
}

/// Whether the message goes without a handshake: then it must fit into a packet, if it needs one.
template <class Args>
bool is_eager(const device& d, const Args& a) {
  return a.size < d.inject_end ||
         (a.size <= d.eager_limit && a.size <= a.packet_pool.p_impl->payload_size());
}

/// Puts a whole eager message into the backlog: the caller's buffer is free.
template <class Args>
status_t queue_eager(device& d, const Args& a, const wire::header& head) {
  backlog::item item;
  item.peer = a.rank;
  item.message.resize(sizeof head + a.size);
  std::memcpy(item.message.data(), &head, sizeof head);
  if (a.size > 0) std::memcpy(item.message.data() + sizeof head, a.local_buffer, a.size);
  d.backlog.push(std::move(item));
  return answer_done(d, a, buffer_of(a), errorcode_t::done_backlog);
}

/// Eager protocols: injection, by packet, from a user's packet, by backlog.
template <class Args>
status_t send_eager(device& d, const Args& a, const wire::header& head) {
  class packet_pool& pool = *a.packet_pool.p_impl;
  const bool user_packet = pool.owns(a.local_buffer);
  errorcode_t result = errorcode_t::retry_backlog;
  if (d.backlog.empty()) {
    if (a.size < d.inject_end) {
      result = d.inject(a.rank, wire::pack(head), a.local_buffer, a.size);
      if (result == errorcode_t::done && user_packet)
        pool.put(packet::of(buffer_of(a)));
    } else {
      packet* p = user_packet ? packet::of(buffer_of(a)) : pool.get();
      if (p == nullptr) {
        result = errorcode_t::retry_nopacket;
      } else {
        p->head = head;
        if (!user_packet) std::memcpy(p->payload(), a.local_buffer, a.size);
        result = d.send_packet(a.rank, p, a.size);
        if (result != errorcode_t::done && !user_packet) pool.put(p);
      }
    }
  }
  if (result == errorcode_t::done) return answer_done(d, a, buffer_of(a));
  if (result == errorcode_t::fatal) throw_peer_failure(a.rank);
  if (may_retry(a)) return result;
  status_t status = queue_eager(d, a, head);
  if (user_packet) pool.put(packet::of(buffer_of(a)));
  return status;
}

/// Rendezvous: tells the receiver; the rest is the progress engine's.
template <class Args>
status_t send_rendezvous(device& d, Args& a, wire::header head, const char* what) {
  const bool retry_allowed = may_retry(a);
  if (!d.backlog.empty() && retry_allowed) return errorcode_t::retry_backlog;
  blocking_guard wait(what, d, a);
  operation* op = make_operation(d, a);
  if (LCI_UNLIKELY(op == nullptr)) return too_many_operations(retry_allowed);
  op->become(op_state::await_receiver);
  op->total = a.size;
  op->next_offset = 0;
  if (a.packet_pool.p_impl->owns(a.local_buffer)) op->carrier = packet::of(buffer_of(a));
  if (d.limits.rma && op->reg.rkey == 0) register_buffer(d, op, a);
  wire::framed<wire::rts_body> rts;
  rts.head = head;
  rts.body = {a.size, reinterpret_cast<uint64_t>(a.local_buffer), op->reg.rkey, op->handle()};
  d.pending.fetch_add(1, std::memory_order_relaxed);
  d.open(op, door_receiver);
  d.send_or_queue(a.rank, rts);
  return wait.result(errorcode_t::posted);
}

}  // namespace

// --- sends and active messages ---

namespace {

inline network::message_head head_of(const post_am_args& a) {
  return wire::pack(wire::kind::am, 0, 0, a.remote_comp, a.tag);
}

inline network::message_head head_of(const post_send_args& a) {
  return wire::pack(wire::kind::send, static_cast<uint8_t>(a.matching_policy),
                    a.matching_engine.p_impl->id, 0, a.tag);
}

LCI_NOINLINE status_t post_am_general(post_am_args& a) {
  device& d = *a.device.p_impl;
  check_common("post_am", d, a);
  if (a.remote_comp == 0)
    throw_invalid("post_am", "remote_comp", "0", "a handle that register_rcomp() gave the target");
  wire::header head = wire::unpack(head_of(a));
  if (is_eager(d, a)) return send_eager(d, a, head);
  head.what = wire::kind::rts_am;
  return send_rendezvous(d, a, head, "post_am");
}

LCI_NOINLINE status_t post_send_general(post_send_args& a) {
  device& d = *a.device.p_impl;
  check_common("post_send", d, a);
  if (static_cast<unsigned>(a.matching_policy) >= static_cast<unsigned>(matching_policy_t::max))
    throw_invalid("post_send", "matching_policy",
                  std::to_string(static_cast<int>(a.matching_policy)),
                  "none, rank_only, tag_only or rank_tag");
  wire::header head = wire::unpack(head_of(a));
  if (is_eager(d, a)) return send_eager(d, a, head);
  head.what = wire::kind::rts_send;
  return send_rendezvous(d, a, head, "post_send");
}

}  // namespace

status_t post_am(post_am_args& a) {
  device& d = *a.device.p_impl;
  if (LCI_LIKELY(goes_plain(d, a) && a.remote_comp != 0) &&
      LCI_LIKELY(d.inject(a.rank, head_of(a), a.local_buffer, a.size) == errorcode_t::done))
    return done_status(a, buffer_of(a));
  return post_am_general(a);
}

status_t post_send(post_send_args& a) {
  device& d = *a.device.p_impl;
  if (LCI_LIKELY(goes_plain(d, a) && a.matching_policy < matching_policy_t::max) &&
      LCI_LIKELY(d.inject(a.rank, head_of(a), a.local_buffer, a.size) == errorcode_t::done))
    return done_status(a, buffer_of(a));
  return post_send_general(a);
}

// --- receives ---

namespace {

/// A receive meets a message that has come before it.
LCI_NOINLINE status_t receive_unexpected(device& d, post_recv_args& a, operation* op,
                                         unexpected* u) {
  if (!u->rendezvous) {
    const status_t status = fill_receive(*op, u->peer, u->tag, u->payload(), u->size);
    std::free(u);
    comp_impl_t* comp = op->comp;
    d.rt.operations.release(op);
    if (a.allow_done || comp == nullptr) return status;
    d.signal_from_post(comp, status);
    return errorcode_t::posted;
  }
  // The answer goes where the request came from, if that device still exists.
  device* via = d.rt.devices.get(static_cast<size_t>(u->device_uid));
  const int peer = u->peer;
  const tag_t tag = u->tag;
  const wire::rts_body rts = u->rts;
  std::free(u);
  (via != nullptr ? *via : d).start_receive(op, peer, tag, rts);
  return errorcode_t::posted;
}

/// Takes a receive back that has not been matched yet, and forgets it. False if there is none.
template <class F>
bool withdraw_receive(device& d, matching_engine& engine, uint64_t key, F is_it) {
  operation* found = nullptr;
  engine.remove_if(key, matching_entry_type_t::recv, [&](void* entry) {
    auto* op = static_cast<operation*>(entry);
    if (found != nullptr || !is_it(op)) return false;
    found = op;
    return true;
  });
  if (found != nullptr) d.rt.operations.release(found);
  return found != nullptr;
}

/// Files a receive, unless its message is there already.
inline status_t file_receive(device& d, post_recv_args& a, matching_policy_t policy,
                             bool retry_allowed) {
  matching_engine& engine = *a.matching_engine.p_impl;
  operation* op = make_operation(d, a);
  if (LCI_UNLIKELY(op == nullptr)) return too_many_operations(retry_allowed);
  op->become(op_state::recv_posted);
  if (!looks_at_rank(policy)) op->status.rank = ANY_SOURCE;
  const uint64_t key = engine.make_key(a.rank, a.tag, policy);
  const uint32_t handle = op->handle();
  void* match = engine.insert(key, op, matching_entry_type_t::recv);
  if (LCI_UNLIKELY(match != nullptr))
    return receive_unexpected(d, a, op, static_cast<unexpected*>(match));
  // Whoever learns of a failure ends the receives that it finds; later ones look for themselves.
  if (LCI_UNLIKELY(d.any_failure()) && looks_at_rank(policy) && d.has_failed(a.rank) &&
      withdraw_receive(d, engine, key, [&](operation* o) { return o == op && o->handle() == handle; }))
    throw_peer_failure(a.rank);
  return errorcode_t::posted;
}

LCI_NOINLINE status_t post_recv_waiting(device& d, post_recv_args& a, matching_policy_t policy) {
  const bool retry_allowed = may_retry(a);
  blocking_guard wait("post_recv", d, a);
  return wait.result(file_receive(d, a, policy, retry_allowed), [&] {
    matching_engine& engine = *a.matching_engine.p_impl;
    return withdraw_receive(d, engine, engine.make_key(a.rank, a.tag, policy),
                            [&](operation* op) { return op->comp == wait.comp(); });
  });
}

}  // namespace

status_t post_recv(post_recv_args& a) {
  device& d = *a.device.p_impl;
  matching_policy_t policy = a.matching_policy;
  if (LCI_UNLIKELY(a.rank == ANY_SOURCE || a.tag == ANY_TAG))
    policy = wildcard_policy(a.rank, a.tag, policy);
  if (LCI_UNLIKELY(!valid_receive(d, a, policy))) reject_receive(d, a, policy);
  if (LCI_UNLIKELY(!a.allow_posted || !can_signal(a.local_comp)))
    return post_recv_waiting(d, a, policy);
  return file_receive(d, a, policy, may_retry(a));
}

// --- remote memory ---

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
