// The text by which an error message describes a failed system call.
#pragma once

#include <cerrno>
#include <cstring>
#include <string>

namespace lci::network {

/// Returns the text of an errno. If the process lacks descriptors, the text also names the limit to raise.
inline std::string errno_text(int error) {
  return std::strerror(error) + std::string(error == EMFILE || error == ENFILE ? "; raise `ulimit -n`" : "");
}

}  // namespace lci::network
