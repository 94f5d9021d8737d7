// Sockets of a tcp bootstrap: where the root listens, and how ranks get there.
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <string>

namespace lci::network::tcp {

using clock = std::chrono::steady_clock;

/// A descriptor that closes itself.
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

/// Where the root is, and the variables that say so.
struct meeting_point {
  std::string host, port, variables;
  std::string text() const { return host + ":" + port; }
};

/// Listens there: at that very address if it is one of this host's, else (a name that leads here
/// through somebody else) at all of them. Throws bootstrap_error.
socket_fd listen_at(const meeting_point& where, int backlog);

/// Connects, and tries again while nobody listens there yet, for `timeout` seconds (0: for ever).
/// Throws bootstrap_error.
socket_fd connect_to(const meeting_point& where, double timeout);

/// "10.0.0.1:4711".
std::string address_text(const sockaddr_storage& address);

}  // namespace lci::network::tcp
