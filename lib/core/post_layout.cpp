// Sends and receives of layouts: the message travels in one piece, packed before it goes and unpacked
// when it has come. What layouts have in common with puts and gets: their checks.
#include "lib/core/post_layout.hpp"

#include <array>
#include <memory>

#include "lib/core/layout.hpp"
#include "lib/core/post_common.hpp"

namespace lci::core {

namespace {

/// False if sizes or distances are beyond all memory.
bool measure(const layout_t& l, size_t& size, size_t& extent) {
  size = extent = 0;
  size_t end;
  if (l.segments() != nullptr) {
    for (size_t i = 0; i < l.n(); ++i) {
      const layout_segment_t& s = l.segments()[i];
      if (__builtin_add_overflow(size, s.size, &size) ||
          __builtin_add_overflow(s.offset, s.size, &end))
        return false;
      if (s.size > 0) extent = std::max(extent, end);
    }
    return true;
  }
  size = 1;
  for (size_t i = 0; i <= l.n(); ++i)
    if (__builtin_mul_overflow(size, l.counts()[i], &size)) return false;
  if (size == 0) return true;
  extent = l.counts()[0];
  for (size_t i = 0; i < l.n(); ++i)
    if (__builtin_mul_overflow(l.counts()[i + 1] - 1, l.strides()[i], &end) ||
        __builtin_add_overflow(extent, end, &extent))
      return false;
  return true;
}

/// Memory for a packed message: small ones, which are copied on posting, cost no allocation.
class packing_space {
 public:
  explicit packing_space(size_t size) {
    if (size > small_.size()) large_.reset(new std::byte[size]);
  }
  std::byte* data() { return large_ != nullptr ? large_.get() : small_.data(); }
  std::unique_ptr<std::byte[]> take() { return std::move(large_); }

 private:
  std::array<std::byte, 8192> small_;
  std::unique_ptr<std::byte[]> large_;
};

/// Keeps a packed message until it has been sent.
class packed_send final : public comp_impl_t {
 public:
  packed_send(std::unique_ptr<std::byte[]> message, comp_impl_t* user, void* buffer)
      : message_(std::move(message)), user_(user), buffer_(buffer) {}
  void signal(status_t status) override {
    const std::unique_ptr<packed_send> ends_here(this);
    status.buffer = buffer_;
    user_->signal(status);
  }

 private:
  const std::unique_ptr<std::byte[]> message_;
  comp_impl_t* const user_;
  void* const buffer_;
};

/// Where a message arrives that is to be unpacked.
class unpacked_receive final : public comp_impl_t {
 public:
  explicit unpacked_receive(const post_recv_args& a)
      : message_(new std::byte[std::max<size_t>(a.size, 1)]),
        layout_(a.layout),
        user_(a.local_comp.p_impl),
        buffer_(a.local_buffer) {}
  void* message() { return message_.get(); }
  /// Moves what has arrived to its places.
  void unpack(status_t& status) {
    if (status.is_done())
      copy_layout(buffer_, layout_cursor(layout_.view(), status.size), message_.get(),
                  layout_cursor(layout_t(), status.size));
    status.buffer = buffer_;
  }
  void signal(status_t status) override {
    const std::unique_ptr<unpacked_receive> ends_here(this);
    unpack(status);
    user_->signal(status);
  }

 private:
  const std::unique_ptr<std::byte[]> message_;
  const kept_layout layout_;
  comp_impl_t* const user_;
  void* const buffer_;
};

template <class Args>
bool waits(const Args& a) {
  return !a.allow_posted || !can_signal(a.local_comp);
}

}  // namespace

size_t check_layout(const char* operation, const char* argument, const layout_t* layout,
                    size_t size) {
  if (layout == nullptr || layout->is_contiguous()) return size;
  if (layout->counts() != nullptr && layout->n() > layout_t::max_levels)
    throw_invalid(operation, argument, std::to_string(layout->n()) + " levels",
                  "0.." + std::to_string(layout_t::max_levels) + " levels");
  if (layout->counts() != nullptr && layout->strides() == nullptr && layout->n() > 0)
    throw_invalid(operation, argument, "without strides",
                  std::to_string(layout->n()) + " of them");
  size_t has, extent;
  if (!measure(*layout, has, extent))
    throw_invalid(operation, argument, "larger than all memory", "a layout of memory");
  if (has != size)
    throw_invalid(operation, argument, "of " + std::to_string(has) + " bytes",
                  "of size = " + std::to_string(size) + " bytes");
  return extent;
}

status_t post_send_layout(post_send_args& a) {
  check_layout("post_send", "layout", a.layout, a.size);
  device& d = *a.device.p_impl;
  packing_space space(a.size);
  copy_layout(space.data(), layout_cursor(layout_t(), a.size), a.local_buffer,
              layout_cursor(*a.layout, a.size));
  post_send_args inner = a;
  inner.layout = nullptr;
  inner.local_buffer = space.data();
  // An eager message is copied once more on posting; a longer one must stay where it is.
  const bool eager = sizeof(wire::ack_body) + a.size <=
                     std::min(d.eager_limit, a.packet_pool.p_impl->payload_size());
  std::unique_ptr<packed_send> sent;
  if (!eager && !waits(a)) {
    std::unique_ptr<std::byte[]> message = space.take();
    if (message == nullptr) {  // short, but not eager here
      message.reset(new std::byte[a.size]);
      std::memcpy(message.get(), space.data(), a.size);
    }
    inner.local_buffer = message.get();
    sent = std::make_unique<packed_send>(std::move(message), a.local_comp.p_impl, buffer_of(a));
    inner.local_comp = comp_t(sent.get());
  }
  status_t status = post_send(inner);
  if (status.is_posted()) (void)sent.release();
  status.buffer = buffer_of(a);
  return status;
}

status_t post_recv_layout(post_recv_args& a) {
  check_layout("post_recv", "layout", a.layout, a.size);
  auto receive = std::make_unique<unpacked_receive>(a);
  post_recv_args inner = a;
  inner.layout = nullptr;
  inner.local_buffer = receive->message();
  inner.mr = mr_t();
  if (!waits(a)) inner.local_comp = comp_t(receive.get());
  status_t status = post_recv(inner);
  if (status.is_done()) receive->unpack(status);
  if (status.is_posted()) (void)receive.release();
  return status;
}

}  // namespace lci::core
