// Sockets of a tcp bootstrap: the root's listener, and the connections of ranks to it.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <string>

namespace lci::network::tcp {

using clock = std::chrono::steady_clock;

/// Owns a descriptor and closes it.
class socket_fd {
 public:
  explicit socket_fd(int fd = -1) : fd_(fd) {}
  ~socket_fd();
  socket_fd(socket_fd&& other) noexcept : fd_(other.release()) {}
  socket_fd& operator=(socket_fd&& other) noexcept;
  int get() const { return fd_; }
  int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }

 private:
  int fd_;
};

/// The root's address, and the variables that gave it.
struct meeting_point {
  std::string host, port, variables;
  std::string text() const { return host + ":" + port; }
};

/// Listens on the first address of `where` that works. If there is none because they are not addresses of this host (as
/// behind an address translation), listens on all addresses of this host. Throws bootstrap_error.
socket_fd listen_at(const meeting_point& where, int backlog);

/// Connects; for `timeout` seconds (0: for ever) repeats what fails, be it the resolution of the name or the
/// connection. Throws bootstrap_error.
socket_fd connect_to(const meeting_point& where, double timeout);

/// "10.0.0.1:4711".
std::string address_text(const sockaddr_storage& address);

}  // namespace lci::network::tcp
