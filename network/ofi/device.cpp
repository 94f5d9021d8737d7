// What a device posts.
#include "network/ofi/device.hpp"

#include <cstring>

namespace lci::network::ofi {

namespace {

/// A lock that is tried, where one is wanted at all.
class attempt {
 public:
  attempt(spinlock& lock, bool wanted) : lock_(wanted ? &lock : nullptr) {
    failed_ = wanted && !lock.try_lock();
  }
  ~attempt() {
    if (lock_ != nullptr && !failed_) lock_->unlock();
  }
  attempt(const attempt&) = delete;
  attempt& operator=(const attempt&) = delete;
  bool failed() const { return LCI_UNLIKELY(failed_); }

 private:
  spinlock* const lock_;
  bool failed_;
};

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

errorcode_t device::outcome(ssize_t result, int peer, errorcode_t good) {
  if (LCI_LIKELY(result == 0)) return good;
  if (result == -FI_EAGAIN || result == -FI_ENOMEM) {
    make_room();
    return errorcode_t::retry_nomem;
  }
  fail_peer(peer, error_text(static_cast<int>(-result)));
  return errorcode_t::fatal;
}

errorcode_t device::inject(int peer, message_head head, const void* payload, size_t size) {
  std::array<std::byte, max_injected> bytes;
  std::memcpy(bytes.data(), &head, sizeof head);
  if (size > 0) std::memcpy(bytes.data() + sizeof head, payload, size);
  return inject_bytes(peer, bytes.data(), sizeof head + size);
}

errorcode_t device::inject_bytes(int to, std::byte* bytes, size_t size) {
  peer& p = peers_[static_cast<size_t>(to)];
  if (LCI_UNLIKELY(is_gone(to))) return errorcode_t::fatal;
  const attempt lock(send_lock_, (lock_mode_ & LCI_NET_TRYLOCK_SEND) != 0);
  if (lock.failed()) return errorcode_t::retry_lock;
  if (!p.sent_to.load(std::memory_order_relaxed)) p.sent_to.store(true, std::memory_order_relaxed);
  const uint64_t tag = tag_of(message_tag::kind::message);
  ssize_t result;
  if (LCI_LIKELY(trailer_ == 0)) {
    result = fi_injectdata(endpoint_.get(), bytes, size, tag, p.address);
  } else {
    std::memcpy(bytes + size, &tag, trailer_size);
    result = fi_inject(endpoint_.get(), bytes, size + trailer_size, p.address);
  }
  return outcome(result, to, errorcode_t::done);
}

errorcode_t device::post(const net_op& op) {
  if (op.kind != verb::send) return op.inject ? inject_put(op) : put_or_get(op);
  if (!op.inject) return send(op, message_tag::kind::message);
  std::array<std::byte, max_injected> bytes;
  const size_t size = join(op, bytes.data());
  return inject_bytes(op.peer, bytes.data(), size);
}

errorcode_t device::send(const net_op& op, message_tag::kind what) {
  peer& p = peers_[static_cast<size_t>(op.peer)];
  if (LCI_UNLIKELY(is_gone(op.peer))) return errorcode_t::fatal;
  const attempt lock(send_lock_, (lock_mode_ & LCI_NET_TRYLOCK_SEND) != 0);
  if (lock.failed()) return errorcode_t::retry_lock;
  if (!p.sent_to.load(std::memory_order_relaxed)) p.sent_to.store(true, std::memory_order_relaxed);

  request& r = requests_.take();
  r.what = what == message_tag::kind::message ? request::kind::send : request::kind::control;
  r.context = op.context;
  r.peer = op.peer;
  // A message has one segment, but for those that are injected.
  segment all = op.n_segments > 0 ? op.segments[0] : segment{};
  if (LCI_UNLIKELY(trailer_ != 0)) all = copy_with_trailer(r, all, tag_of(what));
  const iovec piece{all.base, all.size};
  void* descriptor = descriptor_of(all);
  fi_msg message{};
  message.msg_iov = &piece;
  message.desc = &descriptor;
  message.iov_count = 1;
  message.addr = p.address;
  message.context = &r.space;
  message.data = tag_of(what);
  const uint64_t flags = FI_COMPLETION | (trailer_ == 0 ? FI_REMOTE_CQ_DATA : 0);
  under_way_.fetch_add(1, std::memory_order_relaxed);
  const ssize_t result = fi_sendmsg(endpoint_.get(), &message, flags);
  if (LCI_UNLIKELY(result != 0)) {
    under_way_.fetch_sub(1, std::memory_order_relaxed);
    requests_.give(r);
  }
  return outcome(result, op.peer, errorcode_t::posted);
}

segment device::copy_with_trailer(request& r, const segment& message, uint64_t tag) {
  if (r.copy == nullptr) {
    const size_t capacity = limits_.max_send + trailer_size;
    r.copy = std::make_unique<std::byte[]>(capacity);
    if (limits_.local_registration) r.copy_registration = register_memory(r.copy.get(), capacity);
  }
  if (message.size > 0) std::memcpy(r.copy.get(), message.base, message.size);
  std::memcpy(r.copy.get() + message.size, &tag, trailer_size);
  return {r.copy.get(), message.size + trailer_size, r.copy_registration.lkey};
}

errorcode_t device::put_or_get(const net_op& op) {
  peer& p = peers_[static_cast<size_t>(op.peer)];
  if (LCI_UNLIKELY(is_gone(op.peer))) return errorcode_t::fatal;
  const attempt lock(send_lock_, (lock_mode_ & LCI_NET_TRYLOCK_SEND) != 0);
  if (lock.failed()) return errorcode_t::retry_lock;
  if (!p.sent_to.load(std::memory_order_relaxed)) p.sent_to.store(true, std::memory_order_relaxed);

  request& r = requests_.take();
  r.what = op.kind == verb::put ? request::kind::put : request::kind::get;
  r.context = op.context;
  r.peer = op.peer;
  iovec piece{op.segments[0].base, op.segments[0].size};
  void* descriptor = descriptor_of(op.segments[0]);
  const remote_place at = registrar_->locate(op.remote_addr, op.remote_key);
  fi_rma_iov target{at.address, piece.iov_len, at.key};
  fi_msg_rma message{};
  message.msg_iov = &piece;
  message.desc = &descriptor;
  message.iov_count = op.n_segments;
  message.addr = p.address;
  message.rma_iov = &target;
  message.rma_iov_count = 1;
  message.context = &r.space;
  under_way_.fetch_add(1, std::memory_order_relaxed);
  ssize_t result;
  if (op.kind == verb::get) {
    result = fi_readmsg(endpoint_.get(), &message, FI_COMPLETION);
  } else {
    // A put has ended when its data is in place: remote completion and flushes rely on it.
    uint64_t flags = FI_COMPLETION | FI_DELIVERY_COMPLETE;
    if (op.has_imm) {
      message.data = pack_put(context_.rank(), op.imm);
      flags |= FI_REMOTE_CQ_DATA;
    }
    result = fi_writemsg(endpoint_.get(), &message, flags);
  }
  if (LCI_UNLIKELY(result != 0)) {
    under_way_.fetch_sub(1, std::memory_order_relaxed);
    requests_.give(r);
  }
  return outcome(result, op.peer, errorcode_t::posted);
}

errorcode_t device::inject_put(const net_op& op) {
  peer& p = peers_[static_cast<size_t>(op.peer)];
  if (LCI_UNLIKELY(is_gone(op.peer))) return errorcode_t::fatal;
  const attempt lock(send_lock_, (lock_mode_ & LCI_NET_TRYLOCK_SEND) != 0);
  if (lock.failed()) return errorcode_t::retry_lock;
  if (!p.sent_to.load(std::memory_order_relaxed)) p.sent_to.store(true, std::memory_order_relaxed);
  std::array<std::byte, max_injected> bytes;
  const size_t size = join(op, bytes.data());
  const remote_place at = registrar_->locate(op.remote_addr, op.remote_key);
  const ssize_t result =
      op.has_imm ? fi_inject_writedata(endpoint_.get(), bytes.data(), size,
                                       pack_put(context_.rank(), op.imm), p.address, at.address, at.key)
                 : fi_inject_write(endpoint_.get(), bytes.data(), size, p.address, at.address, at.key);
  return outcome(result, op.peer, errorcode_t::done);
}

errorcode_t device::post_recv(segment buffer, void* context) {
  const attempt lock(receive_lock_, (lock_mode_ & LCI_NET_TRYLOCK_RECV) != 0);
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
