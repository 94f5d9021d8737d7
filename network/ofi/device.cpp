// Posts of a device.
#include "network/ofi/device.hpp"
#include "lib/base/copy_bytes.hpp"

#include <cstring>
#include <utility>

#include "network/ofi/calls.hpp"

namespace lci::network::ofi {

namespace {

void* descriptor_of(const segment& s) { return reinterpret_cast<void*>(s.lkey); }

}  // namespace

void device::end(request& r) {
  count_end(r);
  r.what == request::kind::copy ? copies_.give(r) : requests_.give(r);
}

void device::count_begin(const request& r) {
  under_way_.fetch_add(1, std::memory_order_relaxed);
  peers_[static_cast<size_t>(r.peer)].under_way.fetch_add(1, std::memory_order_relaxed);
  if (r.what == request::kind::copy) copies_under_way_.fetch_add(1, std::memory_order_relaxed);
}

void device::count_end(const request& r) {
  peers_[static_cast<size_t>(r.peer)].under_way.fetch_sub(1, std::memory_order_relaxed);
  under_way_.fetch_sub(1, std::memory_order_release);
  if (r.what == request::kind::copy) copies_under_way_.fetch_sub(1, std::memory_order_relaxed);
}

request& device::take_request() {
  return requests_.take([this](size_t n) {
    deferred_.reserve(unposted_, n);
    deferred_.reserve(failed_, n);
  });
}

errorcode_t device::post(const net_op& op) {
  if (op.kind != verb::send) return op.inject ? inject_put(op) : put_or_get(op);
  if (op.inject) return inject_parts(op.peer, parts::of(op));
  return in_turn(op.peer, [&] { return send(op, message_tag::kind::message); });
}

errorcode_t device::send(const net_op& op, message_tag::kind what) {
  const bool of_core = what == message_tag::kind::message;
  return begin(op, of_core ? request::kind::send : request::kind::control, [&](request& r, fi_addr_t to) {
    // Only injected messages have more than one segment.
    segment all = op.n_segments > 0 ? op.segments[0] : segment{};
    if (LCI_UNLIKELY(trailer_ != 0)) all = copy_with_trailer(r, all, tag_of(what));
    return send_message(r, all, tag_of(what), to);
  });
}

ssize_t device::send_message(request& r, const segment& all, uint64_t tag, fi_addr_t to) {
  const iovec piece{all.base, all.size};
  void* descriptor = descriptor_of(all);
  fi_msg message{};
  message.msg_iov = &piece;
  message.desc = &descriptor;
  message.iov_count = 1;
  message.addr = to;
  message.context = &r.space;
  message.data = tag;
  return fi_sendmsg(endpoint_.get(), &message, FI_COMPLETION | (trailer_ == 0 ? FI_REMOTE_CQ_DATA : 0));
}

void device::make_copy(request& r) {
  if (r.copy != nullptr) return;
  const size_t capacity = limits_.max_send + trailer_size;
  auto copy = std::make_unique<std::byte[]>(capacity);
  if (limits_.local_registration) r.copy_registration = register_memory(copy.get(), capacity);
  r.copy = std::move(copy);
}

segment device::copy_with_trailer(request& r, const segment& message, uint64_t tag) {
  make_copy(r);
  if (message.size > 0) copy_bytes(r.copy.get(), message.base, message.size);
  std::memcpy(r.copy.get() + message.size, &tag, trailer_size);
  return {r.copy.get(), message.size + trailer_size, r.copy_registration.lkey};
}

errorcode_t device::put_or_get(const net_op& op) {
  const bool put = op.kind == verb::put;
  if (!introduce(op.peer)) return errorcode_t::retry_nomem;
  return begin(op, put ? request::kind::put : request::kind::get,
               [&](request& r, fi_addr_t to) { return put_or_get_piece(r, op.segments[0], op, to); });
}

ssize_t device::put_or_get_piece(request& r, const segment& local, const net_op& op, fi_addr_t to) {
  const iovec piece{local.base, local.size};
  void* descriptor = descriptor_of(local);
  const remote_place at = registrar_->locate(op.remote_addr, op.remote_key);
  const fi_rma_iov target{at.address, piece.iov_len, at.key};
  fi_msg_rma message{};
  message.msg_iov = &piece;
  message.desc = &descriptor;
  message.iov_count = op.n_segments > 0 ? 1 : 0;
  message.addr = to;
  message.rma_iov = &target;
  message.rma_iov_count = 1;
  message.context = &r.space;
  if (op.kind == verb::get) return fi_readmsg(endpoint_.get(), &message, FI_COMPLETION);
  // A put completes when its data is in place: remote completion and flushes depend on it.
  uint64_t flags = FI_COMPLETION | FI_DELIVERY_COMPLETE;
  if (op.has_imm) {
    message.data = pack_put(context_.rank(), op.imm);
    flags |= FI_REMOTE_CQ_DATA;
  }
  return fi_writemsg(endpoint_.get(), &message, flags);
}

errorcode_t device::inject_put(const net_op& op) {
  if (!introduce(op.peer)) return errorcode_t::retry_nomem;
  const parts all = parts::of(op);
  const size_t size = all.size();
  if (size > injected_end_) return put_copy(op);
  std::array<std::byte, max_injected> bytes;
  all.copy_to(bytes.data());
  const remote_place at = registrar_->locate(op.remote_addr, op.remote_key);
  return send_to(op.peer, errorcode_t::done, [&](fi_addr_t to) {
    return op.has_imm ? fi_inject_writedata(endpoint_.get(), bytes.data(), size, pack_put(context_.rank(), op.imm), to,
                                            at.address, at.key)
                      : fi_inject_write(endpoint_.get(), bytes.data(), size, to, at.address, at.key);
  });
}

errorcode_t device::put_copy(const net_op& op) {
  request& r = new_copy(op.peer);
  const parts all = parts::of(op);
  all.copy_to(r.copy.get());
  const segment copy{r.copy.get(), all.size(), r.copy_registration.lkey};
  const auto put = [&](fi_addr_t to) { return put_or_get_piece(r, copy, op, to); };
  return inject_copy(r, [&] { return begin_copied(r, put); });
}

errorcode_t device::post_recv(segment buffer, void* context) {
  const attempt lock = try_for(receive_lock_, LCI_NET_TRYLOCK_RECV);
  if (lock.failed()) return errorcode_t::retry_lock;
  request& r = take_request();
  r.what = request::kind::recv;
  r.context = context;
  r.buffer = static_cast<std::byte*>(buffer.base);
  r.size = buffer.size;
  r.delivered = 0;
  r.descriptor = descriptor_of(buffer);
  const ssize_t result = fi_recv(endpoint_.get(), r.buffer, r.size, r.descriptor, FI_ADDR_UNSPEC, &r.space);
  if (LCI_LIKELY(result == 0)) return errorcode_t::done;
  requests_.give(r);
  if (result == -FI_EAGAIN || result == -FI_ENOMEM) return errorcode_t::retry_nomem;
  check(result, "fi_recv of " + provider_.name());
  return errorcode_t::fatal;  // not reached
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
