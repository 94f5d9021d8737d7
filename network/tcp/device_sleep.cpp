// How threads sleep until an event.
#include <sys/epoll.h>

#include "network/tcp/device.hpp"

namespace lci::network::sockets {

bool device::watch_blocked(connection& c) {
  // join() takes the locks in the opposite order, so only try.
  if (!c.lock.try_lock()) return false;
  std::lock_guard own(c.lock, std::adopt_lock);
  const int fd = c.fd.load(std::memory_order_relaxed);
  if (fd < 0) return true;  // its connection causes an event
  if (!c.blocked) return false;
  if (!c.watched) {
    c.watched = true;
    epoll_event e{};
    e.events = EPOLLIN | EPOLLOUT;
    e.data.u64 = static_cast<uint32_t>(c.rank);
    epoll_ctl(events_.get(), EPOLL_CTL_MOD, fd, &e);
  }
  return true;
}

bool device::prepare_to_sleep(sleep_set& events) {
  flush_all();
  events.limit(20000);  // an unreachable host causes no event
  events.add(events_.get());
  return waiting_.all_of([this](connection* c) { return watch_blocked(*c); }) &&
         !own_waits_.load(std::memory_order_seq_cst);  // see list()
}

}  // namespace lci::network::sockets
