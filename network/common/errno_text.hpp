// What a failed system call is reported with.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>

namespace lci::network {

/// Returns the text of an errno, and which limit to raise if that limit is the reason.
inline std::string errno_text(int error) {
  return std::strerror(error) + std::string(error == EMFILE || error == ENFILE ? "; raise `ulimit -n`" : "");
}

}  // namespace lci::network
