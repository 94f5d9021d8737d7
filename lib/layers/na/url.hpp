// Names of networks and processes, as programs write them: "plugin+protocol://host:port".
#pragma once

#include <cstdint>
#include <string>

namespace na {

struct url {
  std::string text;      // the whole, without white space at the end
  std::string plugin;    // empty: none was named
  std::string protocol;  // empty: none was named
  std::string host;      // empty: none was named
  uint16_t port = 0;     // 0: none was named
  bool self = false;     // the network of one process

  /// "tcp://host:port", as the core writes it, with the host `otherwise` if none was named.
  std::string core_url(const std::string& otherwise) const;

  /// White space at the end is ignored, as names are read from files. Throws lci::invalid_argument_error, which says
  /// what is wrong, for plugins and protocols that no program uses, and for ports that are none.
  static url parse(const char* text);
};

}  // namespace na
