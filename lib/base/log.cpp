#include "lib/base/log.hpp"

#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <exception>
#include <string_view>

#include "lib/base/line_limit.hpp"

namespace lci {
namespace {

constinit line_limit warnings;

iovec piece_of(std::string_view text) { return {const_cast<char*>(text.data()), text.size()}; }

}  // namespace

// The number of warnings is limited, as peers can cause them without end.
void log_warning(std::string_view text) noexcept {
  const int64_t left_out = warnings.next();
  if (left_out < 0) return;
  const end_of_line end(left_out);
  // One call, so that the lines of ranks that share a terminal do not interleave. Errors, such as a
  // closed standard error, are ignored.
  const std::array pieces{piece_of("lci: warning: "), piece_of(text),
                          piece_of({end.text, static_cast<size_t>(end.size)})};
  [[maybe_unused]] const ssize_t written = writev(STDERR_FILENO, pieces.data(), static_cast<int>(pieces.size()));
}

void log_exception(const char* about, const std::exception_ptr& thrown) noexcept {
  const auto log = [about](const char* what) {
    std::array<char, 400> line;
    std::snprintf(line.data(), line.size(), "%s: %s", about, what);
    log_warning(line.data());
  };
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& e) {
    log(e.what());
  } catch (...) {
    log("something that is no std::exception");
  }
}

}  // namespace lci
