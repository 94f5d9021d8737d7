// What a device posts.
#include "network/ofi/device.hpp"

#include <cstring>
#include <utility>

namespace lci::network::ofi {

namespace {

void* descriptor_of(const segment& s) { return reinterpret_cast<void*>(s.lkey); }

size_t join(const net_op& op, std::byte* to) {
  size_t size = 0;
  for (int i = 0; i < op.n_segments; ++i) {
    if (op.segments[i].size > 0) std::memcpy(to + size, op.segments[i].base, op.segments[i].size);
    size += op.segments[i].size;
  }
  return size;
}

}  // namespace

template <class F>
errorcode_t device::send_to(int rank, errorcode_t good, F call) {
  peer& p = peers_[static_cast<size_t>(rank)];
  if (LCI_UNLIKELY(is_gone(rank))) return errorcode_t::fatal;
  ssize_t result;
  {
    const attempt lock = try_for(send_lock_, LCI_NET_TRYLOCK_SEND);
    if (lock.failed()) return errorcode_t::retry_lock;
    result = call(p.address);
  }
  if (LCI_LIKELY(result == 0)) {
    meet(rank);
    return good;
  }
  if (result == -FI_EAGAIN || result == -FI_ENOMEM) {
    make_room();
    return errorcode_t::retry_nomem;
  }
  fail_peer(rank, error_text(static_cast<int>(-result)));
  return errorcode_t::fatal;
}

template <class F>
errorcode_t device::begin(const net_op& op, request::kind what, F call) {
  struct attempted {  // memory for the call may be refused
    device& of;
    request& r;
    errorcode_t result;
    ~attempted() {
      if (LCI_UNLIKELY(result != errorcode_t::posted)) of.end(r);
    }
  } it{*this, requests_.take(), errorcode_t::fatal};
  it.r.what = what;
  it.r.context = op.context;
  it.r.peer = op.peer;
  under_way_.fetch_add(1, std::memory_order_relaxed);
  it.result = send_to(op.peer, errorcode_t::posted, [&](fi_addr_t to) { return call(it.r, to); });
  return it.result;
}

void device::end(request& r) {
  under_way_.fetch_sub(1, std::memory_order_release);
  requests_.give(r);
}

errorcode_t device::inject(int peer, message_head head, const void* payload, size_t size) {
  std::array<std::byte, max_injected> bytes;
  std::memcpy(bytes.data(), &head, sizeof head);
  if (size > 0) std::memcpy(bytes.data() + sizeof head, payload, size);
  return inject_bytes(peer, bytes.data(), sizeof head + size);
}

errorcode_t device::inject_bytes(int peer, std::byte* bytes, size_t size) {
  return send_to(peer, errorcode_t::done, [&](fi_addr_t to) {
    const uint64_t tag = tag_of(message_tag::kind::message);
    if (LCI_LIKELY(trailer_ == 0)) return fi_injectdata(endpoint_.get(), bytes, size, tag, to);
    std::memcpy(bytes + size, &tag, trailer_size);
    return fi_inject(endpoint_.get(), bytes, size + trailer_size, to);
  });
}

errorcode_t device::post(const net_op& op) {
  if (op.kind != verb::send) return op.inject ? inject_put(op) : put_or_get(op);
  if (!op.inject) return send(op, message_tag::kind::message);
  std::array<std::byte, max_injected> bytes;
  const size_t size = join(op, bytes.data());
  return inject_bytes(op.peer, bytes.data(), size);
}

errorcode_t device::send(const net_op& op, message_tag::kind what) {
  const bool of_core = what == message_tag::kind::message;
  return begin(op, of_core ? request::kind::send : request::kind::control, [&](request& r, fi_addr_t to) {
    // A message has one segment, but for those that are injected.
    segment all = op.n_segments > 0 ? op.segments[0] : segment{};
    if (LCI_UNLIKELY(trailer_ != 0)) all = copy_with_trailer(r, all, tag_of(what));
    const iovec piece{all.base, all.size};
    void* descriptor = descriptor_of(all);
    fi_msg message{};
    message.msg_iov = &piece;
    message.desc = &descriptor;
    message.iov_count = 1;
    message.addr = to;
    message.context = &r.space;
    message.data = tag_of(what);
    return fi_sendmsg(endpoint_.get(), &message, FI_COMPLETION | (trailer_ == 0 ? FI_REMOTE_CQ_DATA : 0));
  });
}

segment device::copy_with_trailer(request& r, const segment& message, uint64_t tag) {
  if (r.copy == nullptr) {
    const size_t capacity = limits_.max_send + trailer_size;
    auto copy = std::make_unique<std::byte[]>(capacity);
    if (limits_.local_registration) r.copy_registration = register_memory(copy.get(), capacity);
    r.copy = std::move(copy);
  }
  if (message.size > 0) std::memcpy(r.copy.get(), message.base, message.size);
  std::memcpy(r.copy.get() + message.size, &tag, trailer_size);
  return {r.copy.get(), message.size + trailer_size, r.copy_registration.lkey};
}

errorcode_t device::put_or_get(const net_op& op) {
  const bool put = op.kind == verb::put;
  if (!introduce(op.peer)) return errorcode_t::retry_nomem;
  return begin(op, put ? request::kind::put : request::kind::get, [&](request& r, fi_addr_t to) {
    const iovec piece{op.segments[0].base, op.segments[0].size};
    void* descriptor = descriptor_of(op.segments[0]);
    const remote_place at = registrar_->locate(op.remote_addr, op.remote_key);
    const fi_rma_iov target{at.address, piece.iov_len, at.key};
    fi_msg_rma message{};
    message.msg_iov = &piece;
    message.desc = &descriptor;
    message.iov_count = op.n_segments;
    message.addr = to;
    message.rma_iov = &target;
    message.rma_iov_count = 1;
    message.context = &r.space;
    if (!put) return fi_readmsg(endpoint_.get(), &message, FI_COMPLETION);
    // A put has ended when its data is in place: remote completion and flushes rely on it.
    uint64_t flags = FI_COMPLETION | FI_DELIVERY_COMPLETE;
    if (op.has_imm) {
      message.data = pack_put(context_.rank(), op.imm);
      flags |= FI_REMOTE_CQ_DATA;
    }
    return fi_writemsg(endpoint_.get(), &message, flags);
  });
}

errorcode_t device::inject_put(const net_op& op) {
  if (!introduce(op.peer)) return errorcode_t::retry_nomem;
  std::array<std::byte, max_injected> bytes;
  const size_t size = join(op, bytes.data());
  const remote_place at = registrar_->locate(op.remote_addr, op.remote_key);
  return send_to(op.peer, errorcode_t::done, [&](fi_addr_t to) {
    return op.has_imm ? fi_inject_writedata(endpoint_.get(), bytes.data(), size,
                                            pack_put(context_.rank(), op.imm), to, at.address, at.key)
                      : fi_inject_write(endpoint_.get(), bytes.data(), size, to, at.address, at.key);
  });
}

errorcode_t device::post_recv(segment buffer, void* context) {
  const attempt lock = try_for(receive_lock_, LCI_NET_TRYLOCK_RECV);
  if (lock.failed()) return errorcode_t::retry_lock;
  request& r = requests_.take();
  r.what = request::kind::recv;
  r.context = context;
  r.buffer = static_cast<std::byte*>(buffer.base);
  r.size = buffer.size;
  r.descriptor = descriptor_of(buffer);
  const ssize_t result = fi_recv(endpoint_.get(), r.buffer, r.size, r.descriptor, FI_ADDR_UNSPEC, &r.space);
  if (LCI_LIKELY(result == 0)) return errorcode_t::done;
  requests_.give(r);
  if (result == -FI_EAGAIN || result == -FI_ENOMEM) return errorcode_t::retry_nomem;
  throw resource_error("ofi: fi_recv: " + error_text(static_cast<int>(-result)));
}

registration device::register_memory(void* base, size_t size) {
  std::unique_lock lock(memory_lock_, std::defer_lock);
  if ((lock_mode_ & LCI_NET_LOCK_MR) != 0) lock.lock();
  return registrar_->add(base, size);
}

void device::deregister_memory(const registration& reg) {
  std::unique_lock lock(memory_lock_, std::defer_lock);
  if ((lock_mode_ & LCI_NET_LOCK_MR) != 0) lock.lock();
  registrar_->remove(reg);
}

}  // namespace lci::network::ofi
