#include "network/tcp/outside/url.hpp"

#include <netdb.h>
#include <netinet/in.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <memory>

#include "lci/errors.hpp"
#include "lib/base/check.hpp"
#include "network/common/liveness_socket.hpp"
#include "network/tcp/endpoint.hpp"

namespace lci::network::outside {

namespace {

const in6_addr& six_of(const sockaddr_storage& a) { return reinterpret_cast<const sockaddr_in6&>(a).sin6_addr; }
uint32_t four_of(const sockaddr_storage& a) { return ntohl(reinterpret_cast<const sockaddr_in&>(a).sin_addr.s_addr); }

bool is_port(const std::string& text) {
  if (text.empty() || text.size() > 5 || text.find_first_not_of("0123456789") != std::string::npos) return false;
  return std::stoul(text) <= 65535;
}

bool is_host(const std::string& text) {
  if (text.empty() || text.size() > 255) return false;
  for (const char c : text)
    if (c <= ' ' || c > '~' || c == '/' || c == '[' || c == ']' || c == '@') return false;
  return true;
}

bool is_provider(const std::string& text) {
  if (text.empty() || text.size() > 64) return false;
  return std::all_of(text.begin(), text.end(),
                     [](unsigned char c) { return std::isalnum(c) != 0 || std::strchr(";_-.", c); });
}

constexpr const char *of_tcp = "tcp", *of_ofi = "ofi+", *separator = "://";

}  // namespace

url parse_url(const std::string& text, const char* operation, const char* argument) {
  url u;
  bool good = is_url(text);
  if (good) {
    const size_t end = std::min(text.find(separator), text.size());
    const std::string scheme = text.substr(0, end);
    const std::string rest = text.substr(std::min(end + std::strlen(separator), text.size()));
    const bool is_tcp = scheme == of_tcp;
    if (!is_tcp) u.provider = scheme.substr(std::strlen(of_ofi));
    const size_t colon = rest.rfind(':');
    good = colon != std::string::npos && (is_tcp || is_provider(u.provider));
    if (good) {
      u.host = rest.substr(0, colon);
      u.port = rest.substr(colon + 1);
      const bool bracketed = u.host.size() > 2 && u.host.front() == '[' && u.host.back() == ']';
      if (bracketed) u.host = u.host.substr(1, u.host.size() - 2);
      // Numbers of IPv6 have colons, and need the brackets.
      good = is_host(u.host) && is_port(u.port) && bracketed == (u.host.find(':') != std::string::npos);
    }
  }
  if (!good)
    throw_invalid(operation, argument, '"' + text.substr(0, 240) + '"',
                  "tcp://HOST:PORT, such as tcp://10.0.0.1:4711, tcp://[::1]:4711 or tcp://node7:4711; or "
                  "ofi+PROVIDER://HOST:PORT, such as ofi+verbs://node7:4711",
                  "get_address() gives the address of a runtime");
  return u;
}

std::vector<sockaddr_storage> resolve(const url& where, const char* operation) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICSERV;
  addrinfo* list = nullptr;
  const int error = getaddrinfo(where.host.c_str(), where.port.c_str(), &hints, &list);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(list, freeaddrinfo);
  std::vector<sockaddr_storage> found;
  for (const addrinfo* i = error == 0 ? list : nullptr; i != nullptr; i = i->ai_next) {
    sockaddr_storage a{};
    if (i->ai_addrlen > sizeof a) continue;
    std::memcpy(&a, i->ai_addr, i->ai_addrlen);
    if (length_of(a) != 0) found.push_back(a);
  }
  if (found.empty())
    throw resource_error(std::string(operation) + ": the host \"" + where.host + "\" has no address: " +
                         (error == 0 ? "none of IP" : gai_strerror(error)) + "; check the name, or give a number");
  return found;
}

bool is_loopback(const sockaddr_storage& a) {
  if (a.ss_family == AF_INET) return four_of(a) >> 24 == 127;
  if (a.ss_family != AF_INET6) return false;
  const in6_addr& six = six_of(a);
  return IN6_IS_ADDR_LOOPBACK(&six) || (IN6_IS_ADDR_V4MAPPED(&six) && six.s6_addr[12] == 127);
}

bool is_wildcard(const sockaddr_storage& a) {
  if (a.ss_family == AF_INET) return four_of(a) == 0;
  const in6_addr& six = six_of(a);
  return a.ss_family == AF_INET6 && IN6_IS_ADDR_UNSPECIFIED(&six);
}

std::string url_of(const std::string& provider, sockaddr_storage address) {
  if (is_wildcard(address)) {
    // The port has the same offset in both families; a socket for all of IPv6 takes connections of IPv4, too.
    sockaddr_storage here = first_address();
    if (here.ss_family == AF_INET6 && address.ss_family == AF_INET) here = {};
    if (length_of(here) != 0) {
      reinterpret_cast<sockaddr_in&>(here).sin_port = reinterpret_cast<const sockaddr_in&>(address).sin_port;
      address = here;
    }
  }
  return (provider.empty() ? of_tcp : of_ofi + provider) + separator + sockets::text_of(address);
}

std::string host_of(const sockaddr_storage& address) {
  if (is_wildcard(address)) return {};
  std::string text = sockets::text_of(address);
  text.resize(text.rfind(':'));
  return text.front() == '[' ? text.substr(1, text.size() - 2) : text;
}

std::string source_towards(const sockaddr_storage& to) {
  // A connected socket for datagrams has a source, although nothing was sent.
  const socket_handle s(socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage from{};
  socklen_t length = sizeof from;
  if (s.get() < 0 || connect(s.get(), reinterpret_cast<const sockaddr*>(&to), length_of(to)) != 0 ||
      getsockname(s.get(), reinterpret_cast<sockaddr*>(&from), &length) != 0)
    return {};
  return host_of(from);
}

}  // namespace lci::network::outside
