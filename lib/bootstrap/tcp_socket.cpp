#include "lib/bootstrap/tcp_socket.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "lci/errors.hpp"
#include "lib/bootstrap/limits.hpp"

namespace lci::network::tcp {

namespace {

struct addresses {
  addrinfo* list = nullptr;
  ~addresses() {
    if (list != nullptr) freeaddrinfo(list);
  }
};

/// Returns 0, or getaddrinfo's error. A null host stands for all addresses of this host.
int resolve(const char* host, const std::string& port, addresses& found) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV | (host == nullptr ? AI_PASSIVE : 0);
  return getaddrinfo(host, port.c_str(), &hints, &found.list);
}

/// Listens on the first address that works; else sets `error`.
socket_fd listen_at_any(const addrinfo* list, int backlog, int& error) {
  error = EADDRNOTAVAIL;
  for (const addrinfo* a = list; a != nullptr; a = a->ai_next) {
    socket_fd fd(socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    const int one = 1;
    if (fd.get() >= 0) setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (fd.get() >= 0 && bind(fd.get(), a->ai_addr, a->ai_addrlen) == 0 && listen(fd.get(), backlog) == 0) {
      return fd;
    }
    error = errno;
  }
  return socket_fd();
}

/// A connection to a local port on which no socket listens may get that port as its own, and connect to itself.
bool is_to_itself(int fd) {
  sockaddr_storage own{}, other{};
  socklen_t own_length = sizeof own, other_length = sizeof other;
  return getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_length) == 0 &&
         getpeername(fd, reinterpret_cast<sockaddr*>(&other), &other_length) == 0 && own_length == other_length &&
         std::memcmp(&own, &other, own_length) == 0;
}

/// Waits until `fd` can be written to or `timeout` seconds have passed (0: for ever). A signal does not end the wait.
bool becomes_writable(int fd, double timeout) {
  const auto begin = clock::now();
  for (;;) {
    const double left = timeout - std::chrono::duration<double>(clock::now() - begin).count();
    if (timeout > 0 && left <= 0) return false;
    pollfd p{fd, POLLOUT, 0};
    const int n = poll(&p, 1, timeout > 0 ? static_cast<int>(std::min(left, 1e6) * 1e3) + 1 : -1);
    if (n > 0) return true;
    if (n < 0 && errno != EINTR) return false;
  }
}

/// Returns 0, or the error.
int connect_once(const addrinfo& a, double timeout, socket_fd& out) {
  socket_fd fd(socket(a.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd.get() < 0) return errno;
  int error = connect(fd.get(), a.ai_addr, a.ai_addrlen) == 0 ? 0 : errno;
  if (error == EINPROGRESS) {
    socklen_t length = sizeof error;
    if (!becomes_writable(fd.get(), timeout)) return ETIMEDOUT;
    getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &error, &length);
  }
  if (error == 0 && is_to_itself(fd.get())) {
    const linger at_once{1, 0};  // else TIME_WAIT blocks the port, which rank 0 needs, for a minute
    setsockopt(fd.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    error = ECONNREFUSED;
  }
  if (error != 0) return error;
  const int one = 1;
  setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
  setsockopt(fd.get(), SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
  out = std::move(fd);
  return 0;
}

}  // namespace

socket_fd::~socket_fd() {
  if (fd_ >= 0) close(fd_);
}

socket_fd& socket_fd::operator=(socket_fd&& other) noexcept {
  if (this == &other) return *this;
  if (fd_ >= 0) close(fd_);
  fd_ = other.release();
  return *this;
}

socket_fd listen_at(const meeting_point& where, int backlog) {
  addresses own, any;
  if (const int rc = resolve(where.host.c_str(), where.port, own); rc != 0) {
    throw bootstrap_error(where.variables + " (" + where.text() + "): " + gai_strerror(rc));
  }
  int error = 0;
  socket_fd fd = listen_at_any(own.list, backlog, error);
  if (fd.get() < 0 && error == EADDRNOTAVAIL) {
    resolve(nullptr, where.port, any);
    fd = listen_at_any(any.list, backlog, error);
  }
  if (fd.get() >= 0) return fd;
  throw bootstrap_error("rank 0 can't listen at " + where.text() + " (" + where.variables + "): " + strerror(error) +
                        "; is that port taken, or another job's? LCI_TCP_ROOT=<host>:<port> names "
                        "another");
}

socket_fd connect_to(const meeting_point& where, double timeout) {
  constexpr auto longest_pause = std::chrono::milliseconds(200);
  const auto begin = clock::now();
  const auto left = [&] { return timeout - std::chrono::duration<double>(clock::now() - begin).count(); };
  std::string why;
  std::chrono::milliseconds pause(2);
  do {
    // The name of the root's host may become resolvable only later.
    addresses found;
    if (const int rc = resolve(where.host.c_str(), where.port, found); rc != 0) {
      why = gai_strerror(rc);
    }
    for (const addrinfo* a = found.list; a != nullptr; a = a->ai_next) {
      socket_fd fd;
      const int error = connect_once(*a, timeout > 0 ? std::max(left(), 0.001) : 0, fd);
      if (error == 0) return fd;
      why = strerror(error);
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, longest_pause);
  } while (timeout <= 0 || left() > 0);
  throw bootstrap_error("rank 0 can't be reached at " + where.text() + " (" + where.variables + ") for " +
                        seconds_text(timeout) + ": " + why +
                        "; was it started, and does a firewall let us through? "
                        "LCI_ATTR_BOOTSTRAP_TIMEOUT=<seconds> sets how long to try");
}

std::string address_text(const sockaddr_storage& address) {
  char host[64] = "?", port[16] = "?";
  getnameinfo(reinterpret_cast<const sockaddr*>(&address), sizeof address, host, sizeof host, port, sizeof port,
              NI_NUMERICHOST | NI_NUMERICSERV);
  return std::string(host) + ":" + port;
}

}  // namespace lci::network::tcp
