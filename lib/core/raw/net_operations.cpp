// Raw network operations. Each checks its arguments and becomes an operation of the core, whose completion is
// queued as a net_status_t (raw_network.hpp).
#include <algorithm>
#include <cstring>
#include <memory>

#include "generated/core_operations.hpp"
#include "lib/base/copy_bytes.hpp"
#include "lib/core/device/in_progress.hpp"
#include "lib/core/device/raw_network.hpp"
#include "lib/core/device/sending.hpp"
#include "lib/core/post/post_common.hpp"
#include "lib/core/transfer/transfers.hpp"

namespace lci::core {

namespace {

void check_buffer(const char* what, const void* buffer, size_t size) {
  if (buffer == nullptr && size != 0)
    throw_invalid(what, "buffer", "nullptr", "an address",
                  "only messages of 0 bytes may have none (size = " + std::to_string(size) + ")");
  if (!is_possible(size)) reject_size(what, size);
}

template <class Args>
void check_target(const char* what, const device& d, const Args& a) {
  if (static_cast<unsigned>(a.rank) >= static_cast<unsigned>(d.n_peers))
    throw_invalid(what, "rank", std::to_string(a.rank), "0.." + std::to_string(d.n_peers - 1));
  check_buffer(what, a.buffer, a.size);
  d.failures.check(a.rank);
}

template <class Args>
void check_registration(const char* what, const device& d, const Args& a) {
  if (!is_registered(a.mr)) return;
  const memory_region& region = *a.mr.p_impl;
  if (region.device_serial != d.serial) reject_registration(d, region);
  const auto begin = reinterpret_cast<uintptr_t>(a.buffer);
  const auto base = reinterpret_cast<uintptr_t>(region.base);
  if (begin < base || begin - base > region.size || a.size > region.size - (begin - base))
    throw_invalid(what, "mr", "of " + std::to_string(region.size) + " bytes elsewhere",
                  "of memory that holds all of the buffer", "register the buffer, or pass mr_t()");
}

template <class Args>
void check_range(const char* what, const device& d, const Args& a) {
  const rmr_t& rmr = a.rmr;
  if (rmr.is_empty() || !rmr.is_of(d.attr.uid) || a.offset > rmr.size() || a.size > rmr.size() - a.offset)
    reject_remote(what, d, rmr, a.offset, a.size, "offset");
}

/// Payload of the largest message that is sent as a copy.
size_t largest_copy(const device& d) {
  return std::min(d.packet_pool.p_impl->payload_size(), d.limits.max_send - sizeof(wire::header));
}

template <class Args>
void check_copy(const char* what, const device& d, const Args& a) {
  const size_t limit = largest_copy(d);
  if (a.size > limit)
    throw_invalid(what, "size", std::to_string(a.size), "0.." + std::to_string(limit),
                  "use " + std::string(what, std::strlen(what) - 1) +
                      ", which takes no copy, or larger packets (LCI_ATTR_PACKET_SIZE)");
}

/// The result of a post of the core. If the operation is already done, queues its status and returns `posted`.
error_t answer(raw_network& raw, net_opcode_t opcode, const status_t& status) {
  if (!status.is_done()) return status.error;
  raw.report(opcode, status);
  return errorcode_t::posted;
}

// --- sends ---

/// Sends a message whose buffer may be reused when this returns `done`. Does not use post_send(), which would take
/// ownership of a user's packet.
template <class Args>
errorcode_t send_copy(device& d, const Args& a) {
  if (d.backlog.holds_back(a.rank)) return errorcode_t::retry_backlog;
  if (LCI_UNLIKELY(d.sends_pause(a.rank))) return errorcode_t::retry_nomem;
  const auto head =
      wire::pack(wire::kind::send, static_cast<uint8_t>(matching_policy_t::none), wire::raw_engine, 0, a.imm_data);
  errorcode_t result;
  if (a.size < d.inject_end) {
    result = d.inject(a.rank, head, a.buffer, a.size);
  } else {
    packet_pool& pool = *d.packet_pool.p_impl;
    packet* p = pool.get();
    if (p == nullptr && pool.is_hollow()) p = d.supply.reserved();
    if (p == nullptr) return errorcode_t::retry_nopacket;
    p->head = wire::unpack(head);
    copy_bytes(p->payload(), a.buffer, a.size);
    result = send_packet(d, a.rank, p, a.size);
    if (result != errorcode_t::done) p->pool->put(p);
  }
  if (result == errorcode_t::fatal) throw_peer_failure(d, a.rank);
  return result;
}

// --- puts and gets ---

/// The arguments that a put or get of the core shares with a raw one.
template <class To, class Args>
To remote_access(const Args& a, comp_impl_t* comp) {
  To to;
  to.rank = a.rank;
  to.local_buffer = a.buffer;
  to.size = a.size;
  to.local_comp = comp_t(comp);
  to.remote_disp = a.offset;
  to.rmr = a.rmr;
  to.runtime = a.runtime;
  to.device = a.device;
  to.endpoint = a.endpoint;
  to.packet_pool = a.device.p_impl->packet_pool;
  to.user_context = a.user_context;
  return to;
}

void with_imm(post_put_args& put, net_imm_data_t imm) {
  put.remote_comp = wire::raw_signal;
  put.tag = imm;
}

/// Owns the copied source of a put until the put has ended. Queues a status only if the put failed.
class copied_put final : public comp_impl_t {
 public:
  copied_put(raw_network& raw, const void* from, size_t size) : raw_(raw), copy_(new std::byte[size]) {
    if (size > 0) copy_bytes(copy_.get(), from, size);
  }
  void signal(status_t status) override {
    if (!status.is_done()) raw_.report(net_opcode_t::ERROR, status);
    raw_.drop(this);  // deletes this object
  }
  const void* data() const { return copy_.get(); }

 private:
  raw_network& raw_;
  const std::unique_ptr<std::byte[]> copy_;
};

/// A put for which the network copies the source, without a completion.
errorcode_t inject_put(device& d, const post_put_args& put) {
  if (d.backlog.holds_back(put.rank)) return errorcode_t::retry_backlog;
  network::net_op op;
  op.kind = network::verb::put;
  op.inject = true;
  op.peer = put.rank;
  op.n_segments = 1;
  op.segments[0] = {const_cast<void*>(put.local_buffer), put.size, 0};
  op.remote_addr = put.rmr.base + put.remote_disp;
  op.remote_key = put.rmr.opaque_rkey;
  const errorcode_t result = d.net->post(op);
  if (result == errorcode_t::fatal) throw_peer_failure(d, put.rank);
  if (result == errorcode_t::done && put.remote_comp != 0)
    send_signal(d, put.rank, put.remote_comp, put.tag, op.remote_addr, put.size);
  return result;
}

error_t put_copy(device& d, post_put_args put) {
  const bool in_order = put.remote_comp == 0 || d.limits.put_then_send_ordered;
  if (d.limits.rma && put.size > 0 && put.size <= d.limits.max_inject && in_order) return inject_put(d, put);
  raw_network& raw = raw_of(d);
  auto made = std::make_unique<copied_put>(raw, put.local_buffer, put.size);
  copied_put* const copy = made.get();
  raw.keep(std::move(made));
  put.local_buffer = copy->data();
  put.local_comp = comp_t(copy);
  try {
    const error_t result = post_put(put).error;
    if (result.is_posted()) return errorcode_t::done;  // signal() may have dropped the copy already
    raw.drop(copy);
    return result;
  } catch (...) {
    raw.drop(copy);
    throw;
  }
}

/// The arguments of a send or receive of the core that raw operations share: the network orders raw messages, and tags
/// do not select them.
template <class Post, class Args>
Post message(const Args& a, raw_network& raw, comp_impl_t& comp) {
  Post post;
  post.local_buffer = a.buffer;
  post.size = a.size;
  post.local_comp = comp_t(&comp);
  post.matching_policy = matching_policy_t::none;
  post.matching_engine = matching_engine_t(&raw.engine);
  post.mr = a.mr;
  post.user_context = a.user_context;
  post.runtime = a.runtime;
  post.device = a.device;
  post.packet_pool = a.device.p_impl->packet_pool;
  return post;
}

}  // namespace

size_t net_poll_cq(net_poll_cq_args& a) {
  if (a.statuses == nullptr && a.max_polls != 0)
    throw_invalid("net_poll_cq", "statuses", "nullptr",
                  "an array of max_polls = " + std::to_string(a.max_polls) + " elements");
  device& d = *a.device.p_impl;
  // Before statuses are taken, which would be lost if progress() throws.
  if (!tls_in_progress) (void)d.progress();
  return raw_of(d).take(a.max_polls, a.statuses);
}

error_t net_post_recv(net_post_recv_args& a) {
  device& d = *a.device.p_impl;
  check_buffer("net_post_recv", a.buffer, a.size);
  check_registration("net_post_recv", d, a);
  raw_network& raw = raw_of(d);
  auto recv = message<post_recv_args>(a, raw, raw.received);
  recv.rank = ANY_SOURCE;
  return answer(raw, net_opcode_t::RECV, post_recv(recv));
}

error_t net_post_sends(net_post_sends_args& a) {
  device& d = *a.device.p_impl;
  check_target("net_post_sends", d, a);
  check_copy("net_post_sends", d, a);
  return send_copy(d, a);
}

error_t net_post_send(net_post_send_args& a) {
  device& d = *a.device.p_impl;
  check_target("net_post_send", d, a);
  check_registration("net_post_send", d, a);
  raw_network& raw = raw_of(d);
  if (a.size <= largest_copy(d)) {
    const errorcode_t result = send_copy(d, a);
    if (result != errorcode_t::done) return result;
    return answer(raw, net_opcode_t::SEND, make_status(result, a.rank, a.buffer, a.size, 0, a.user_context));
  }
  auto send = message<post_send_args>(a, raw, raw.sent);
  send.rank = a.rank;
  send.tag = a.imm_data;
  send.endpoint = a.endpoint;
  return answer(raw, net_opcode_t::SEND, post_send(send));
}

error_t net_post_puts(net_post_puts_args& a) {
  device& d = *a.device.p_impl;
  check_target("net_post_puts", d, a);
  check_copy("net_post_puts", d, a);
  check_range("net_post_puts", d, a);
  return put_copy(d, remote_access<post_put_args>(a, nullptr));
}

error_t net_post_putImms(net_post_putImms_args& a) {
  device& d = *a.device.p_impl;
  check_target("net_post_putImms", d, a);
  check_copy("net_post_putImms", d, a);
  check_range("net_post_putImms", d, a);
  auto put = remote_access<post_put_args>(a, nullptr);
  with_imm(put, a.imm_data);
  return put_copy(d, put);
}

error_t net_post_put(net_post_put_args& a) {
  device& d = *a.device.p_impl;
  check_target("net_post_put", d, a);
  check_registration("net_post_put", d, a);
  check_range("net_post_put", d, a);
  raw_network& raw = raw_of(d);
  auto put = remote_access<post_put_args>(a, &raw.written);
  put.mr = a.mr;
  return answer(raw, net_opcode_t::WRITE, post_put(put));
}

error_t net_post_putImm(net_post_putImm_args& a) {
  device& d = *a.device.p_impl;
  check_target("net_post_putImm", d, a);
  check_registration("net_post_putImm", d, a);
  check_range("net_post_putImm", d, a);
  raw_network& raw = raw_of(d);
  auto put = remote_access<post_put_args>(a, &raw.written);
  put.mr = a.mr;
  with_imm(put, a.imm_data);
  return answer(raw, net_opcode_t::WRITE, post_put(put));
}

error_t net_post_get(net_post_get_args& a) {
  device& d = *a.device.p_impl;
  check_target("net_post_get", d, a);
  check_registration("net_post_get", d, a);
  check_range("net_post_get", d, a);
  raw_network& raw = raw_of(d);
  auto get = remote_access<post_get_args>(a, &raw.got);
  get.mr = a.mr;
  return answer(raw, net_opcode_t::READ, post_get(get));
}

}  // namespace lci::core
