#include "lib/base/log.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <string_view>

namespace lci {
namespace {

iovec piece_of(std::string_view text) { return {const_cast<char*>(text.data()), text.size()}; }

}  // namespace

void log_warning(std::string_view text) noexcept {
  // One call, so that the lines of ranks that share a terminal do not interleave. Errors, such as a
  // closed standard error, are ignored.
  const std::array pieces{piece_of("lci: warning: "), piece_of(text), piece_of("\n")};
  [[maybe_unused]] const ssize_t written = writev(STDERR_FILENO, pieces.data(), static_cast<int>(pieces.size()));
}

}  // namespace lci
