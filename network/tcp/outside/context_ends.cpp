// The ends of connections: by either side, or by a failure.
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "lib/base/log.hpp"
#include "lib/base/memory.hpp"
#include "network/tcp/outside/context.hpp"
#include "network/tcp/outside/device.hpp"

namespace lci::network::outside {

void context::on_trouble(int peer, uint32_t generation, const char* reason, bool at_once) {
  const std::lock_guard guard(mutex_);
  peer_state& p = at(peer);
  if (p.now != phase::connected || p.generation != generation) return;
  if (p.trouble[0] == '\0') p.since = clock::now();
  std::snprintf(p.trouble.data(), p.trouble.size(), "%s", reason);
  if (!at_once) return;
  begin_end(peer, departure::died);
  log_warning("tcp: rank " + std::to_string(peer) + ", a peer outside of the job, is disconnected: " + reason);
}

void context::read_control(int peer) {
  char bytes[16];
  const ssize_t n = recv(at(peer).control.get(), bytes, sizeof bytes, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR || lacks_memory(errno))) return;
  if (n < 0)
    log_warning("tcp: the connection with rank " + std::to_string(peer) +
                ", a peer outside of the job, has failed: " + std::strerror(errno));
  if (at(peer).now == phase::connected)
    return begin_end(peer, n > 0 && bytes[0] == leaving ? departure::left : departure::died);
  abandon_link_attempts(peer);
  fail(peer, contact::state::gone, "the runtime at " + at(peer).address + " has closed the connection");
}

void context::disconnect(int peer) {
  const std::lock_guard guard(mutex_);
  if (static_cast<size_t>(peer - first()) >= peers_.size()) return;
  peer_state& p = at(peer);
  switch (p.now) {
    case phase::idle:
      return;
    case phase::connecting:
      introductions_.abandon(p.attempt);
      controls_.erase(p.attempt);
      return finish(peer, departure::disconnected);
    case phase::linking:
      send_short(p.control.get(), std::string(1, leaving));
      abandon_link_attempts(peer);
      return finish(peer, departure::disconnected);
    case phase::unsuccessful:
    case phase::over:
      return finish(peer, departure::disconnected);
    case phase::connected:
      send_short(p.control.get(), std::string(1, leaving));
      return begin_end(peer, departure::disconnected);
    case phase::ending:
      p.released = true;
      return;
  }
}

void context::begin_end(int peer, departure how) {
  peer_state& p = at(peer);
  live_[static_cast<size_t>(peer - first())].store(0, std::memory_order_release);
  p.now = phase::ending;
  p.how = how;
  p.released = how == departure::disconnected;
  p.control = socket_handle();
  p.parked.clear();
  abandon_link_attempts(peer);
  p.devices_left = static_cast<int>(devices_.size());
  if (p.devices_left == 0) return finish(peer, how);
  for (device* d : devices_) d->note_end(peer, p.generation, how);
}

void context::abandon_link_attempts(int peer) {
  for (auto link = links_.begin(); link != links_.end();) {
    if (link->second.peer == peer) introductions_.abandon(link->first);
    link = link->second.peer == peer ? links_.erase(link) : std::next(link);
  }
}

void context::dealt_with(int peer) {
  const std::lock_guard guard(mutex_);
  peer_state& p = at(peer);
  if (p.now == phase::ending && --p.devices_left == 0) finish(peer, p.how);
}

void context::finish(int peer, departure how) {
  peer_state& p = at(peer);
  const bool to_program = how != departure::disconnected && !p.released;
  p = {};
  p.now = to_program ? phase::over : phase::idle;
  book_->retire(peer, to_program ? how : departure::disconnected);
}

}  // namespace lci::network::outside
