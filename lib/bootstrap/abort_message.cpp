#include "lib/bootstrap/abort_message.hpp"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace lci::network {

namespace {

constexpr std::chrono::milliseconds reader_timeout{200};
constexpr std::chrono::microseconds pause_between_looks{200};

/// Unread bytes in a pipe or a local socket; 0 if the number is unknown.
int unread_bytes(int fd) {
  struct stat s {};
  if (fstat(fd, &s) != 0) return 0;
  int n = 0;
  if (S_ISFIFO(s.st_mode)) return ioctl(fd, FIONREAD, &n) == 0 ? n : 0;
  if (S_ISSOCK(s.st_mode)) return ioctl(fd, SIOCOUTQ, &n) == 0 ? n : 0;
  return 0;
}

}  // namespace

void announce_abort(int rank, int code, const std::string& message) {
  const std::string text =
      "lci: rank " + std::to_string(rank) + ": abort with code " + std::to_string(code) + ": " + message + "\n";
  [[maybe_unused]] const ssize_t n = write(STDERR_FILENO, text.data(), text.size());
  const auto end = std::chrono::steady_clock::now() + reader_timeout;
  while (unread_bytes(STDERR_FILENO) > 0 && std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(pause_between_looks);
}

}  // namespace lci::network
