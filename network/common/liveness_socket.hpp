// A descriptor that closes itself, and what TCP connections between hosts need.
#pragma once

#include <netinet/in.h>
#include <unistd.h>

#include <chrono>
#include <utility>

namespace lci::network {

class socket_handle {
 public:
  socket_handle() = default;
  explicit socket_handle(int fd) : fd_(fd) {}
  socket_handle(socket_handle&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  socket_handle& operator=(socket_handle&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~socket_handle() {
    if (fd_ >= 0) close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_ = -1;
};

/// One of this host's addresses: of an interface that is up and leads out, else the loopback.
sockaddr_storage first_address();

/// A socket that listens on any port; its port goes into `address`. -1 with `errno`.
socket_handle listen_at(sockaddr_storage& address, int backlog);

/// Begins to connect, with the kernel's keepalive unless `timeout` is 0: it gives up a peer that has not answered
/// for so long, or has not read for so long what was sent. -1 with `errno`.
socket_handle begin_to_connect(const sockaddr_storage& to, std::chrono::milliseconds timeout);

/// Whether a connection that ended so before it was one may be had a moment later: there is no way to the host now,
/// as while its neighbours have forgotten where it is.
bool may_pass(int error);
/// Whether a call has failed since this process or the system has too little of something just now: try later.
bool lacks_resources(int error);
/// Before who is asked in vain is asked again.
inline constexpr std::chrono::milliseconds pause_before_next_try{200};

/// Length of an address of that family; 0 if it is none of IP.
socklen_t length_of(const sockaddr_storage& address);

}  // namespace lci::network
