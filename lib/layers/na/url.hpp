// Names of networks and processes in programs: "plugin+protocol://host:port".
#pragma once

#include <cstdint>
#include <string>

namespace na {

struct url {
  std::string text;      // the whole name, without white space at the end
  std::string plugin;    // empty: none was named
  std::string protocol;  // empty: none was named
  std::string host;      // empty: none was named
  uint16_t port = 0;     // 0: none was named
  bool self = false;     // the network of one process

  /// "tcp://host:port", the core's syntax, with the host `otherwise` if none was named.
  std::string core_url(const std::string& otherwise) const;

  /// Parses a name. Ignores white space at its end, since programs read names from files. Throws
  /// lci::invalid_argument_error for unknown plugins and protocols, and for malformed ports.
  static url parse(const char* text);
};

}  // namespace na
