// Addresses of peers outside of the job as URLs: tcp://host:port.
#pragma once

#include <sys/socket.h>

#include <string>
#include <vector>

namespace lci::network::outside {

/// "tcp://10.0.0.1:4711", "tcp://[::1]:0", "tcp://node7:4711".
struct url {
  std::string host;  ///< a name or a number, without brackets
  std::string port;  ///< digits
};

inline constexpr const char* url_begin = "tcp://";
inline bool is_url(const std::string& text) { return text.rfind(url_begin, 0) == 0; }

/// Throws invalid_argument_error that names `operation` and `argument`.
url parse_url(const std::string& text, const char* operation, const char* argument);
/// The addresses of the host's name. May query a name server and block. Throws resource_error.
std::vector<sockaddr_storage> resolve(const url& where, const char* operation);

bool is_loopback(const sockaddr_storage& address);
/// Whether the host is a wildcard address (all addresses of this host).
bool is_wildcard(const sockaddr_storage& address);
/// The URL by which other hosts reach a socket that listens there; a wildcard becomes an address of this host.
std::string url_of(sockaddr_storage address);

}  // namespace lci::network::outside
