// The address on which a device listens, and the secrets that peers need to connect.
#pragma once

#include <sys/socket.h>

#include <string>

#include "network/tcp/hello.hpp"

namespace lci::network::sockets {

/// The connection data that a device offers through the exchange.
struct endpoint {
  sockaddr_storage address{};
  secret request_secret{};  ///< a connecting peer must send it
  secret answer{};          ///< proves that the device is the intended one

  std::string packed() const;
  /// Throws bootstrap_error if the bytes are not a valid endpoint. `rank`: their owner.
  static endpoint unpack(const std::string& bytes, int rank);
};

/// The address to listen on. `device_name`: an interface, or an address of this host; empty: the first interface that
/// is not the loopback. IPv4 is preferred to IPv6. Throws invalid_argument_error, or resource_error if there is none.
sockaddr_storage listening_address(const std::string& device_name);

/// "10.0.0.1:4711".
std::string text_of(const sockaddr_storage& address);

}  // namespace lci::network::sockets
