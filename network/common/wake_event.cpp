#include "network/common/wake_event.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "lci/errors.hpp"

namespace lci::network {

wake_event::wake_event(const char* backend) : event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (event_.get() < 0)
    throw resource_error(std::string(backend) + ": no eventfd: " + std::strerror(errno) + "; raise `ulimit -n`");
}

void wake_event::set() {
  const uint64_t one = 1;
  (void)!write(fd(), &one, sizeof one);
}

void wake_event::clear() {
  uint64_t count;
  (void)!read(fd(), &count, sizeof count);
}

bool sleep_set::sleep() {
  const timespec time{longest_us_ / 1000000, longest_us_ % 1000000 * 1000};
  return ppoll(fds_.data(), n_, &time, nullptr) > 0;
}

bool sleep_set::is_ready(int fd) const {
  for (nfds_t i = 0; i < n_; ++i)
    if (fds_[i].fd == fd) return (fds_[i].revents & POLLIN) != 0;
  return false;
}

}  // namespace lci::network
