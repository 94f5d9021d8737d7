#include "network/tcp/outside/url.hpp"

#include <netdb.h>
#include <netinet/in.h>

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

}  // namespace

url parse_url(const std::string& text, const char* operation, const char* argument) {
  url u;
  bool good = is_url(text);
  if (good) {
    const std::string rest = text.substr(std::strlen(url_begin));
    const size_t colon = rest.rfind(':');
    good = colon != std::string::npos;
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
                  "tcp://HOST:PORT, such as tcp://10.0.0.1:4711, tcp://[::1]:4711 or tcp://node7:4711",
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

std::string url_of(sockaddr_storage address) {
  if (is_wildcard(address)) {
    // The port has the same offset in both families; a socket for all of IPv6 takes connections of IPv4, too.
    sockaddr_storage here = first_address();
    if (here.ss_family == AF_INET6 && address.ss_family == AF_INET) here = {};
    if (length_of(here) != 0) {
      reinterpret_cast<sockaddr_in&>(here).sin_port = reinterpret_cast<const sockaddr_in&>(address).sin_port;
      address = here;
    }
  }
  return url_begin + sockets::text_of(address);
}

}  // namespace lci::network::outside
