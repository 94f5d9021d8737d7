// How threads sleep until an event, and are woken.
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>

#include "network/tcp/device.hpp"

namespace lci::network::sockets {

namespace {

// An unreachable host causes no event.
constexpr int64_t longest_sleep_us = 20000;

}  // namespace

void device::wake_poller(int fd) {
  const uint64_t one = 1;
  (void)!::write(fd, &one, sizeof one);
}

void device::unpark() { wake_poller(wake_.get()); }

bool device::prepare_to_sleep() {
  bool all_blocked = true;
  std::lock_guard guard(waiting_lock_);
  for (connection* c : waiting_) {
    // join() takes the locks in the opposite order, so only try.
    if (!c->lock.try_lock()) return false;
    std::lock_guard own(c->lock, std::adopt_lock);
    const int fd = c->fd.load(std::memory_order_relaxed);
    if (fd < 0) continue;  // its connection causes an event
    all_blocked = all_blocked && c->blocked;
    if (!c->blocked || c->watched) continue;
    c->watched = true;
    epoll_event e{};
    e.events = EPOLLIN | EPOLLOUT;
    e.data.u64 = static_cast<uint32_t>(c->rank);
    epoll_ctl(events_.get(), EPOLL_CTL_MOD, fd, &e);
  }
  return all_blocked;
}

void device::sleep(int64_t timeout_us, bool parked) {
  if (timeout_us <= 0) return;
  check_peers();
  flush_all();
  sleepers_.fetch_add(1, std::memory_order_seq_cst);  // see list()
  if (parked) parked_.fetch_add(1, std::memory_order_seq_cst);
  if (prepare_to_sleep() && !own_waits_.load(std::memory_order_seq_cst) && !deferred_.any()) {
    timeout_us = std::min(timeout_us, longest_sleep_us);
    const timespec time{timeout_us / 1000000, timeout_us % 1000000 * 1000};
    pollfd fds[2] = {{events_.get(), POLLIN, 0}, {wake_.get(), POLLIN, 0}};
    // Only a parked thread consumes an unpark(); others must not take it.
    if (ppoll(fds, parked ? 2 : 1, &time, nullptr) > 0 && parked && (fds[1].revents & POLLIN) != 0) {
      uint64_t count;
      (void)!::read(wake_.get(), &count, sizeof count);
    }
  }
  if (parked) parked_.fetch_sub(1, std::memory_order_relaxed);
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace lci::network::sockets
