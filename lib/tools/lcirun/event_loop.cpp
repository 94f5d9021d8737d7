#include "lib/tools/lcirun/event_loop.hpp"
#include "lib/tools/lcirun/throw_errno.hpp"

#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>

namespace lci::launcher {

event_loop::event_loop() : epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  if (epoll_ < 0) throw_errno("epoll_create1");
}

event_loop::~event_loop() { close(epoll_); }

bool event_loop::watch(int fd, uint32_t events, handler on_ready) {
  epoll_event event{};
  event.events = events;
  event.data.fd = fd;
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event) != 0) {
    if (errno == EPERM) return false;
    throw_errno("epoll_ctl");
  }
  if (handlers_.size() <= size_t(fd)) handlers_.resize(size_t(fd) + 1);
  handlers_[size_t(fd)] = std::move(on_ready);
  return true;
}

void event_loop::forget(int fd) {
  epoll_ctl(epoll_, EPOLL_CTL_DEL, fd, nullptr);
  handlers_[size_t(fd)] = nullptr;
}

void event_loop::wait(double seconds) {
  constexpr int most = 256;
  epoll_event events[most];
  // Rounded up: else the last part of a millisecond before a deadline would be a busy loop.
  const int ms = seconds < 0 ? -1 : int(std::min(seconds * 1e3 + 1, double(INT_MAX)));
  const int n = epoll_wait(epoll_, events, most, ms);
  if (n < 0 && errno != EINTR) {
    throw_errno("epoll_wait");
  }
  for (int i = 0; i < n; ++i) {
    // A copy, since the handler may forget its own descriptor.
    const handler on_ready = handlers_[size_t(events[i].data.fd)];
    if (on_ready) on_ready();
  }
}

}  // namespace lci::launcher
