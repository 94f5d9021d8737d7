#include "network/common/liveness_socket.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "network/common/errno_text.hpp"

namespace lci::network {

namespace {

template <class T>
void set(const socket_handle& s, int level, int option, T value) {
  setsockopt(s.get(), level, option, &value, sizeof value);
}

/// Larger is better; 0: not usable.
int worth(const ifaddrs& i) {
  if (i.ifa_addr == nullptr || (i.ifa_flags & IFF_UP) == 0) return 0;
  if (i.ifa_addr->sa_family == AF_INET) return (i.ifa_flags & IFF_LOOPBACK) != 0 ? 2 : 4;
  if (i.ifa_addr->sa_family != AF_INET6) return 0;
  // Link-local addresses are meaningless without an interface.
  if (IN6_IS_ADDR_LINKLOCAL(&reinterpret_cast<const sockaddr_in6*>(i.ifa_addr)->sin6_addr)) return 0;
  return (i.ifa_flags & IFF_LOOPBACK) != 0 ? 1 : 3;
}

/// Returns whether both addresses are of one host, which holds if they are equal apart from the port.
bool same_host(const sockaddr_storage& a, const sockaddr_storage& b) {
  if (a.ss_family != b.ss_family) return false;
  const auto in = [](const sockaddr_storage& s) { return reinterpret_cast<const sockaddr_in&>(s).sin_addr.s_addr; };
  const auto in6 = [](const sockaddr_storage& s) -> const in6_addr& {
    return reinterpret_cast<const sockaddr_in6&>(s).sin6_addr;
  };
  return a.ss_family == AF_INET ? in(a) == in(b) : a.ss_family == AF_INET6 && IN6_ARE_ADDR_EQUAL(&in6(a), &in6(b));
}

}  // namespace

socklen_t length_of(const sockaddr_storage& address) {
  return address.ss_family == AF_INET ? sizeof(sockaddr_in) : address.ss_family == AF_INET6 ? sizeof(sockaddr_in6) : 0;
}

sockaddr_storage first_address() {
  sockaddr_storage best{};
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) {
    if (errno == ENOMEM) throw std::bad_alloc();
    return best;
  }
  int most = 0;
  for (const ifaddrs* i = all; i != nullptr; i = i->ifa_next) {
    if (worth(*i) <= most) continue;
    most = worth(*i);
    best = {};
    best.ss_family = i->ifa_addr->sa_family;
    std::memcpy(&best, i->ifa_addr, length_of(best));
  }
  freeifaddrs(all);
  errno = 0;
  return best;
}

std::string no_address_text(int error) {
  return error == 0 ? "no network interface is up; `ip addr` shows them"
                    : "can't list the network interfaces: " + errno_text(error);
}

socket_handle listen_at(sockaddr_storage& address, int backlog) {
  socket_handle s(socket(address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (s.get() < 0) return s;
  // The port has the same offset in both families.
  reinterpret_cast<sockaddr_in&>(address).sin_port = 0;
  socklen_t length = length_of(address);
  if (bind(s.get(), reinterpret_cast<sockaddr*>(&address), length) != 0 || listen(s.get(), backlog) != 0 ||
      getsockname(s.get(), reinterpret_cast<sockaddr*>(&address), &length) != 0)
    return {};
  return s;
}

bool has_waiting(const socket_handle& listener) {
  pollfd p{listener.get(), POLLIN, 0};
  return poll(&p, 1, 0) > 0;
}

void prepare_for_messages(int fd) {
  const int on = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  sockaddr_storage own{}, peer{};
  socklen_t own_length = sizeof own, peer_length = sizeof peer;
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&own), &own_length) != 0 ||
      getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &peer_length) != 0 || !same_host(own, peer))
    return;
  // A system's default may pace what is sent (BBR does), by timers and an estimate that falls when a process is
  // interrupted. Within a host there is no network to protect. Each system has Reno, and allows it to each user.
  static constexpr char reno[] = "reno";
  setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, reno, sizeof reno - 1);
}

bool may_pass(int error) {
  return error == EHOSTUNREACH || error == ENETUNREACH || error == EHOSTDOWN || error == ENETDOWN;
}

bool lacks_resources(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM || error == ENOSPC ||
         error == EAGAIN || error == EINTR;
}

void watch_host(const socket_handle& s, std::chrono::milliseconds timeout) {
  if (timeout.count() <= 0) return;
  const auto seconds = static_cast<int>(timeout.count() / 1000);
  set(s, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(s, IPPROTO_TCP, TCP_KEEPIDLE, std::max(seconds / 3, 1));
  set(s, IPPROTO_TCP, TCP_KEEPINTVL, std::max(seconds / 6, 1));
  set(s, IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(s, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<unsigned>(timeout.count()));
}

socket_handle begin_to_connect(const sockaddr_storage& to, std::chrono::milliseconds timeout) {
  socket_handle s(socket(to.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (s.get() < 0) return s;
  watch_host(s, timeout);
  if (connect(s.get(), reinterpret_cast<const sockaddr*>(&to), length_of(to)) != 0 && errno != EINPROGRESS) return {};
  return s;
}

}  // namespace lci::network
