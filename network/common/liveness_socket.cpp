#include "network/common/liveness_socket.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

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
  return best;
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
