// Settings by environment variables, for libna, libmercury and liblci-rpc.
#pragma once

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "lci/errors.hpp"

namespace na {

/// The number in this environment variable, or `otherwise` if it is not set. Throws lci::invalid_argument_error if it
/// contains anything but a number from `least` to `most`.
inline uint64_t setting(const char* name, uint64_t otherwise, uint64_t least, uint64_t most) {
  const char* const text = std::getenv(name);
  if (text == nullptr || *text == 0) return otherwise;
  char* end = nullptr;
  errno = 0;
  const uint64_t value = std::strtoull(text, &end, 10);
  if (text[0] >= '0' && text[0] <= '9' && *end == 0 && errno == 0 && value >= least && value <= most) return value;
  throw lci::invalid_argument_error(std::string(name) + "=" + text + ": must be a number from " +
                                    std::to_string(least) + " to " + std::to_string(most) + "; unset it for " +
                                    std::to_string(otherwise));
}

}  // namespace na
