// Addresses of peers outside of the job as URLs: tcp://host:port, or ofi+provider://host:port.
#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

namespace lci::network::outside {

/// "tcp://10.0.0.1:4711", "tcp://[::1]:0", "tcp://node7:4711", "ofi+verbs://node7:4711".
struct url {
  std::string provider;  ///< of libfabric; empty: TCP
  std::string host;      ///< a name or a number, without brackets
  std::string port;      ///< digits
};

inline bool is_url(const std::string& text) { return text.rfind("tcp://", 0) == 0 || text.rfind("ofi+", 0) == 0; }

/// Throws invalid_argument_error that names `operation` and `argument`.
url parse_url(const std::string& text, const char* operation, const char* argument);
/// The addresses of the host's name. May query a name server and block. Throws resource_error.
std::vector<sockaddr_storage> resolve(const url& where, const char* operation);

bool is_loopback(const sockaddr_storage& address);
/// Returns whether the host is a wildcard address (all addresses of this host).
bool is_wildcard(const sockaddr_storage& address);
/// The URL by which other hosts reach a socket that listens there; a wildcard becomes an address of this host.
std::string url_of(const std::string& provider, sockaddr_storage address);
/// The host's number, without the port; empty for a wildcard.
std::string host_of(const sockaddr_storage& address);
/// The number of the address of this host from which `to` is reached; empty if there is no route.
std::string source_towards(const sockaddr_storage& to);

}  // namespace lci::network::outside
