// The settings of the environment. Nothing here takes memory of malloc(), see never_destroyed.hpp.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "never_destroyed.hpp"
#include "paths.hpp"
#include "real.hpp"

namespace io_shim {

namespace {

/// Calls the C library's write(), since this library's functions need the settings.
void warn(const char* name, const char* value, const char* why) {
  if (std::getenv("IOD_VERBOSE") == nullptr) return;
  char line[256];
  const int size = std::snprintf(line, sizeof line, "liblci_io_shim: %s=%.100s: %s\n", name, value, why);
  (void)!IO_REAL(write)(STDERR_FILENO, line, static_cast<size_t>(size));
}

/// Stores a path without `.`, `..` and double slashes. Returns its size, or 0 if it does not fit, or is empty.
template <size_t Room>
size_t store_normal(std::string_view path, char (&to)[Room]) {
  size_t size = 0;
  for (size_t at = 0; at < path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    const std::string_view part = path.substr(at, end - at);
    if (part == "..") {
      while (size > 0 && to[--size] != '/') {
      }
    } else if (!part.empty() && part != ".") {
      if (size + 1 + part.size() >= Room) return 0;
      to[size++] = '/';
      std::memcpy(to + size, part.data(), part.size());
      size += part.size();
    }
    at = end + 1;
  }
  to[size] = '\0';
  return size;
}

struct stored_settings {
  stored_settings() {
    const char* server = std::getenv("IOD_SERVER");
    const char* prefix = std::getenv("IOD_PREFIX");
    const char* timeout = std::getenv("IOD_TIMEOUT");
    if (prefix == nullptr) prefix = "/remote";
    if (server != nullptr && *server != '\0') {
      if (std::strlen(server) < sizeof server_text) {
        std::strcpy(server_text, server);
        seen.server = server_text;
      } else {
        warn("IOD_SERVER", server, "is too long; no path is remote");
      }
    }
    const size_t size = store_normal(prefix, prefix_text);
    seen.prefix = {prefix_text, size};
    if (size == 0) {
      if (!seen.server.empty()) warn("IOD_PREFIX", prefix, "must name a folder; no path is remote");
      seen.server = {};
    }
    if (timeout != nullptr && *timeout != '\0') {
      char* end = nullptr;
      const double seconds = std::strtod(timeout, &end);
      if (end != timeout && *end == '\0' && std::isfinite(seconds) && seconds > 0)
        seen.timeout = seconds;
      else if (!seen.server.empty())
        warn("IOD_TIMEOUT", timeout, "must be a number of seconds above 0; 60 is used");
    }
  }

  settings seen;
  char server_text[4096] = "", prefix_text[4096] = "";
};

}  // namespace

const settings& configured() { return never_destroyed<stored_settings>().seen; }

}  // namespace io_shim
