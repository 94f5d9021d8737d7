// Peer failure, and closing a device: it sends a close notification on each connection, and waits until the peer's host
// has received everything. A connection that ends without that notification has failed.
#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "network/tcp/device.hpp"

namespace lci::network::sockets {

namespace {

/// By then the failure of a process, or a silent host, has been detected.
constexpr std::chrono::seconds longest_doubt{10};

}  // namespace

void device::fail_peer(int rank, const std::string& reason) {
  bool made = false;
  connection& c = make_link(rank, made);
  if (made) c.stranger.store(true, std::memory_order_relaxed);
  if (!c.what.fail()) return;
  deferred_.add(ended_links_, &c);
  deferred_.add_failure(rank, "tcp: " + reason);
}

void device::check_peers() {
  handshakes_->handle_due();
  liveness& peers = context_.peers();
  peers.look();
  peers.tell(departures_seen_, [&](const liveness::departure& d) {
    bool made = false;
    if (d.device != liveness::all_devices) return;  // ended devices are detected as they no longer listen
    if (d.died) return fail_peer(d.rank, d.reason);
    connection& c = make_link(d.rank, made);
    if (c.what.let_go()) deferred_.add_end(d.rank);
    // If it is connected, its last messages are still to be read.
    if (c.fd.load(std::memory_order_acquire) < 0) deferred_.add(ended_links_, &c);
  });
  settle_doubts();
}

void device::on_closed(int rank, const std::string& reason) {
  std::lock_guard guard(doubts_mutex_);
  doubts_.push_back({rank, reason, std::chrono::steady_clock::now()});
}

void device::settle_doubts() {
  std::vector<doubt> doubts;
  {
    std::lock_guard guard(doubts_mutex_);
    if (LCI_LIKELY(doubts_.empty())) return;
    doubts.swap(doubts_);
  }
  const auto now = std::chrono::steady_clock::now();
  for (doubt& d : doubts) {
    connection& c = link_to(d.rank);
    // Its end was detected, or it has connected to us.
    if (c.is_gone() || c.fd.load(std::memory_order_acquire) >= 0) continue;
    const liveness::view seen = context_.peers().view_of(d.rank);
    // A process that exits closes its sockets one by one: this one may be closed before its liveness connection.
    if (seen == liveness::view::alive && now - d.since > liveness::benefit_of_doubt) {
      if (c.what.let_go()) deferred_.add_end(d.rank);
      deferred_.add(ended_links_, &c);
    } else if (seen == liveness::view::none || now - d.since > longest_doubt) {
      fail_peer(d.rank, d.reason);
    } else {
      std::lock_guard guard(doubts_mutex_);
      doubts_.push_back(std::move(d));
    }
  }
}

bool device::dismiss(connection& c) {
  const int fd = c.fd.load(std::memory_order_acquire);
  if (!c.dismissed.load(std::memory_order_relaxed)) {
    const joined how = join(c, frame_kind::goodbye, {}, nullptr);
    if (how == joined::gone) return true;
    if (how != joined::no_room) c.dismissed.store(true, std::memory_order_relaxed);
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

bool device::flushed() {
  if (farewell_time_.is_over()) return true;
  bool all = !own_waits_.load(std::memory_order_relaxed);
  for (int r = 0; r < context_.size(); ++r) {
    connection* const c = link_if_any(r);
    // A peer that has left has read everything or does not want to.
    if (r == own_rank_ || c == nullptr || c->is_gone()) continue;
    all = dismiss(*c) && all;
  }
  flush_all();
  return all;
}

}  // namespace lci::network::sockets
