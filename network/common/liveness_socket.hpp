// An owning file descriptor, and helpers for TCP connections between hosts.
#pragma once

#include <netinet/in.h>
#include <unistd.h>

#include <chrono>
#include <string>
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

/// An address of this host: of an interface that is up and not the loopback, else of the loopback. Family 0 if there is
/// none; errno then is 0 if no interface is up, or says why they can't be listed. Throws std::bad_alloc.
sockaddr_storage first_address();

/// The text for this errno of first_address().
std::string no_address_text(int error);

/// A socket that listens on any free port; stores the port in `address`. -1 on failure, with `errno`.
socket_handle listen_at(sockaddr_storage& address, int backlog);

/// Returns whether a connection waits to be accepted. Without a free descriptor accept() fails even if none does.
bool has_waiting(const socket_handle& listener);

/// Starts to connect, with the kernel's keepalive unless `timeout` is 0: the kernel gives up a peer that for that long
/// has not answered, or has not read what was sent. -1 on failure, with `errno`.
socket_handle begin_to_connect(const sockaddr_storage& to, std::chrono::milliseconds timeout);

/// The same keepalive for a connection that exists. No effect if `timeout` is 0.
void watch_host(const socket_handle& s, std::chrono::milliseconds timeout);

/// Prepares a connected socket that will carry messages: each leaves at once, and none is paced if the peer is on this
/// host.
void prepare_for_messages(int fd);

/// Returns whether a connection attempt that failed with this error may succeed a moment later: there is no route to
/// the host now, for example because a neighbour's cache entry has expired.
bool may_pass(int error);
/// Returns whether a call failed because the process or the system lacks resources at the moment: retry later.
bool lacks_resources(int error);
/// The pause before a failed attempt is retried.
inline constexpr std::chrono::milliseconds pause_before_next_try{200};

/// Length of an address of that family; 0 if it is not an IP address.
socklen_t length_of(const sockaddr_storage& address);

}  // namespace lci::network
