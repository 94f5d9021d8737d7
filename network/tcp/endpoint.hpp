// Where a device listens, and what peers must know to get in there.
#pragma once

#include <sys/socket.h>

#include <string>

#include "network/tcp/hello.hpp"

namespace lci::network::sockets {

/// What a device offers through the exchange.
struct endpoint {
  sockaddr_storage address{};
  secret knock{};   ///< who connects must know it
  secret answer{};  ///< by this the device proves that it is the one that was meant

  std::string packed() const;
  /// Throws bootstrap_error if no device packs such bytes. `rank`: whose they are.
  static endpoint unpack(const std::string& bytes, int rank);
};

/// The address to listen at: of the interface of that name, or that address itself if it is one of this
/// host's; empty: of the first interface that leads out. IPv4 before IPv6. Throws invalid_argument_error.
sockaddr_storage listening_address(const std::string& device_name);

/// "10.0.0.1:4711".
std::string text_of(const sockaddr_storage& address);

}  // namespace lci::network::sockets
