#include "lib/base/log.hpp"

#include <unistd.h>

namespace lci {

void log_warning(const std::string& text) {
  const std::string line = "lci: warning: " + text + "\n";
  // One write, so that the lines of ranks that share a terminal do not interleave. Errors, such as a
  // closed standard error, are ignored.
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
}

}  // namespace lci
