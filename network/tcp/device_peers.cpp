// Peer failure, and closing a device: it sends a close notification on each connection, and waits until the peer's host
// has received everything. A connection that ends without that notification has failed.
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "network/tcp/device.hpp"

namespace lci::network::sockets {

peer_state& device::state_of(int rank) {
  bool made = false;
  connection& c = make_link(rank, made);
  if (made) c.never_met.store(true, std::memory_order_relaxed);
  return c.state;
}

void device::on_gone(int rank, bool failed) {
  connection& c = *link_if_any(rank);
  // If one that has ended is connected, its last messages are still to be read.
  if (failed || c.fd.load(std::memory_order_acquire) < 0) deferred_.add(ended_links_, &c);
}

void device::on_closed(int rank, const std::string& reason) {
  bool made = false;
  suspect(make_link(rank, made).why_suspected, rank, reason);
}

bool device::is_settled(int rank) {
  const connection& c = *link_if_any(rank);
  return c.is_gone() || c.fd.load(std::memory_order_acquire) >= 0;  // or it has connected to us
}

bool device::has_sent_all() {
  handshakes_->begin_to_close();
  flush_all();
  return !own_waits_.load(std::memory_order_relaxed);
}

bool device::has_unsent(int rank) {
  connection* const c = link_if_any(rank);
  if (c == nullptr || c->is_gone()) return false;
  std::lock_guard guard(c->lock);
  return !c->broken && !c->waiting.empty();
}

bool device::close_to(int rank) {
  connection* const link = link_if_any(rank);
  // A peer that has ended has read everything or does not want to.
  if (link == nullptr || link->is_gone()) return true;
  connection& c = *link;
  const int fd = c.fd.load(std::memory_order_acquire);
  if (!c.close_sent.load(std::memory_order_relaxed)) {
    const joined how = join(c, frame_kind::close, {}, nullptr);
    if (how == joined::gone) return true;
    if (how != joined::no_room) c.close_sent.store(true, std::memory_order_relaxed);
    flush(c);
    if (how == joined::no_room) return false;
  }
  {
    std::lock_guard guard(c.lock);
    if (c.broken) return true;
    if (fd < 0 || c.sending || !c.waiting.empty()) return false;
  }
  // The FIN is acknowledged at once, the data before it maybe later.
  if (!c.shut) shutdown(fd, SHUT_WR);
  c.shut = true;
  int unread = 0;
  return ioctl(fd, SIOCOUTQ, &unread) != 0 || unread == 0;
}

}  // namespace lci::network::sockets
