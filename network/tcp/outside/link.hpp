// The byte stream between two devices: a socket, or a stream over datagrams.
#pragma once

#include <sys/socket.h>
#include <sys/uio.h>

#include <utility>

#include "network/common/liveness_socket.hpp"
#include "network/tcp/outside/stream_port.hpp"

namespace lci::network::outside {

/// Owns its end of the stream. Empty if there is none. Not thread-safe, except that one thread may read while another
/// one writes.
class link {
 public:
  link() = default;
  explicit link(socket_handle s) : socket_(std::move(s)) {}
  /// `p` must exist longer.
  link(stream_port& p, message_stream& s) : port_(&p), stream_(&s) {}
  link(link&& other) noexcept
      : socket_(std::move(other.socket_)), port_(std::exchange(other.port_, nullptr)), stream_(other.stream_) {}
  link& operator=(link&& other) noexcept {
    std::swap(socket_, other.socket_);
    std::swap(port_, other.port_);
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~link() {
    if (port_ != nullptr) port_->close(*stream_);
  }

  explicit operator bool() const { return socket_.get() >= 0 || port_ != nullptr; }
  /// To be watched by an epoll; -1 if it is not a socket.
  int descriptor() const { return socket_.get(); }

  /// As recv(), recvmsg() and sendmsg() without waiting.
  ssize_t read(void* to, size_t size) {
    if (LCI_LIKELY(port_ == nullptr)) return recv(socket_.get(), to, size, MSG_DONTWAIT);
    const iovec one{to, size};
    return port_->read(*stream_, &one, 1);
  }
  ssize_t read(iovec* places, int n) {
    if (LCI_UNLIKELY(port_ != nullptr)) return port_->read(*stream_, places, n);
    msghdr message{};
    message.msg_iov = places;
    message.msg_iovlen = static_cast<size_t>(n);
    return recvmsg(socket_.get(), &message, MSG_DONTWAIT);
  }
  ssize_t write(void* from, size_t size) {
    if (LCI_LIKELY(port_ == nullptr)) return send(socket_.get(), from, size, MSG_DONTWAIT | MSG_NOSIGNAL);
    const iovec one{from, size};
    return port_->write(*stream_, &one, 1);
  }
  ssize_t write(iovec* pieces, int n) {
    if (LCI_UNLIKELY(port_ != nullptr)) return port_->write(*stream_, pieces, n);
    msghdr message{};
    message.msg_iov = pieces;
    message.msg_iovlen = static_cast<size_t>(n);
    return sendmsg(socket_.get(), &message, MSG_DONTWAIT | MSG_NOSIGNAL);
  }

  /// Nothing more will be written.
  void end() { port_ == nullptr ? (void)shutdown(socket_.get(), SHUT_WR) : port_->end(*stream_); }
  /// Nothing more will be written or read.
  void abort() { port_ == nullptr ? (void)shutdown(socket_.get(), SHUT_RDWR) : port_->abort(*stream_); }
  /// After end(): whether what was written still has to leave this process's host.
  bool has_unsent() const;
  /// After end(): whether the peer is known to have read everything. A socket does not know that.
  bool is_read() const { return port_ != nullptr && port_->is_read(*stream_); }

 private:
  socket_handle socket_;
  stream_port* port_ = nullptr;
  message_stream* stream_ = nullptr;
};

}  // namespace lci::network::outside
