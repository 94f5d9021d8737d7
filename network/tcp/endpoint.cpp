#include "network/tcp/endpoint.hpp"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <new>

#include "lci/errors.hpp"
#include "lib/base/check.hpp"
#include "network/common/liveness_socket.hpp"

namespace lci::network::sockets {

namespace {

sockaddr_storage copy_of(const sockaddr& address) {
  sockaddr_storage copy{};
  copy.ss_family = address.sa_family;
  std::memcpy(&copy, &address, length_of(copy));
  return copy;
}

std::string number_of(const sockaddr_storage& address) {
  char host[64] = "?";
  getnameinfo(reinterpret_cast<const sockaddr*>(&address), length_of(address), host, sizeof host, nullptr, 0,
              NI_NUMERICHOST);
  return host;
}

}  // namespace

std::string endpoint::packed() const {
  std::string bytes(reinterpret_cast<const char*>(&address), length_of(address));
  for (const secret* s : {&request_secret, &answer}) bytes.append(reinterpret_cast<const char*>(s->data()), s->size());
  return bytes;
}

endpoint endpoint::unpack(const std::string& bytes, int rank) {
  endpoint e;
  constexpr size_t secrets = 2 * sizeof(secret);
  const size_t length = bytes.size() - secrets;
  bool good = bytes.size() > secrets + sizeof(sa_family_t) && length <= sizeof e.address;
  if (good) {
    std::memcpy(&e.address, bytes.data(), length);
    std::memcpy(e.request_secret.data(), bytes.data() + length, sizeof(secret));
    std::memcpy(e.answer.data(), bytes.data() + length + sizeof(secret), sizeof(secret));
    good = length == length_of(e.address);
  }
  if (!good)
    throw bootstrap_error("tcp: the address of rank " + std::to_string(rank) +
                          " is invalid; all ranks must use the same version of LCI, and the same backend "
                          "(LCI_ATTR_BACKEND)");
  return e;
}

sockaddr_storage listening_address(const std::string& device_name) {
  if (device_name.empty()) {
    const sockaddr_storage first = first_address();
    if (length_of(first) == 0) throw resource_error("tcp: this host has no address: " + no_address_text(errno));
    return first;
  }
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) {
    if (errno == ENOMEM) throw std::bad_alloc();
    throw resource_error("tcp: " + no_address_text(errno));
  }
  const std::unique_ptr<ifaddrs, void (*)(ifaddrs*)> owner(list, freeifaddrs);
  sockaddr_storage found{};
  std::string known;
  for (const ifaddrs* i = list; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || (i->ifa_flags & IFF_UP) == 0) continue;
    const sockaddr_storage address = copy_of(*i->ifa_addr);
    if (length_of(address) == 0) continue;
    const std::string number = number_of(address);
    known += (known.empty() ? "" : ", ") + std::string(i->ifa_name) + " (" + number + ")";
    if (device_name == number) return address;
    const bool better = found.ss_family == 0 || (found.ss_family == AF_INET6 && address.ss_family == AF_INET);
    if (device_name == i->ifa_name && better) found = address;
  }
  if (found.ss_family == 0)
    throw_invalid("alloc_net_context", "device_name", device_name,
                  "an interface of this host that is up, or its address: " + known);
  return found;
}

std::string text_of(const sockaddr_storage& address) {
  char host[64] = "?", port[16] = "?";
  getnameinfo(reinterpret_cast<const sockaddr*>(&address), length_of(address), host, sizeof host, port, sizeof port,
              NI_NUMERICHOST | NI_NUMERICSERV);
  return address.ss_family == AF_INET6 ? "[" + std::string(host) + "]:" + port : std::string(host) + ":" + port;
}

}  // namespace lci::network::sockets
