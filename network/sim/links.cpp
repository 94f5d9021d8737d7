// Peers outside of the job in a simulated world: how connections are made and closed.
#include <algorithm>
#include <cstdio>
#include <string>

#include "lci/errors.hpp"
#include "lib/base/check.hpp"
#include "network/sim/device.hpp"

namespace lci::network::sim {

std::string world::address_of(int station) const {
  return "sim://" + std::to_string(number_) + "/" + std::to_string(station);
}

int world::job_size_of(int station) const {
  std::lock_guard lock(mutex_);
  return ranks_[static_cast<size_t>(station)].job_size;
}

int world::base_of(int station) const {
  std::lock_guard lock(mutex_);
  return ranks_[static_cast<size_t>(station)].base;
}

void world::open(int station, external_peer_book& book) {
  std::lock_guard lock(mutex_);
  rank_state& s = ranks_[static_cast<size_t>(station)];
  s.book = &book;
  s.n_contexts += 1;
  s.links.resize(static_cast<size_t>(book.capacity()));
}

void world::close(int station) {
  std::lock_guard lock(mutex_);
  rank_state& s = ranks_[static_cast<size_t>(station)];
  if (s.book == nullptr || --s.n_contexts > 0) return;
  for (link& l : s.links)
    if (l.now == link::phase::connected) begin_end(l.station, l.there, departure::left);
  s.book = nullptr;
  s.links.clear();
}

world::link& world::link_of(int station, int peer) {
  rank_state& s = ranks_[static_cast<size_t>(station)];
  return s.links[static_cast<size_t>(peer - s.book->first())];
}

int world::station_of(int station, int peer) {
  const rank_state& s = ranks_[static_cast<size_t>(station)];
  if (peer < s.job_size) return s.base + peer;
  const link& l = link_of(station, peer);
  return l.now == link::phase::connected ? l.station : -1;
}

int world::peer_at(int station, int of) {
  const rank_state& s = ranks_[static_cast<size_t>(station)];
  if (of >= s.base && of < s.base + s.job_size) return of - s.base;
  return -1;
}

int world::connect(int station, const std::string& address) {
  std::lock_guard lock(mutex_);
  unsigned long long number = 0;
  int to = -1;
  if (std::sscanf(address.c_str(), "sim://%llu/%d", &number, &to) != 2 || number != number_ || to < 0 ||
      static_cast<size_t>(to) >= ranks_.size() || address != address_of(to))
    throw_invalid("connect", "address", '"' + address.substr(0, 240) + '"',
                  "what get_address() gave in the same simulated world");
  rank_state& s = ranks_[static_cast<size_t>(station)];
  if (to == station) return station - s.base;
  if (ranks_[static_cast<size_t>(to)].book == nullptr || separated(station, to))
    throw peer_failure_error(-1, "sim: the runtime of that address was freed, or is cut off");
  const int peer = s.book->admit();
  if (peer < 0)
    throw resource_error("connect: all " + std::to_string(s.book->capacity()) +
                         " peer ids are in use; disconnect some, or raise LCI_ATTR_MAX_PEERS");
  link& l = link_of(station, peer);
  l = {.now = link::phase::connecting, .station = to, .number = ++n_links_};
  requests_.emplace(at(soon(16)), connect_request{station, peer, l.number, to});
  return peer;
}

void world::answer_requests(int station) {
  for (auto it = requests_.begin(); it != requests_.end() && it->first.first <= clock_;) {
    const auto here = it++;
    if (here->second.to != station) continue;
    const connect_request k = here->second;
    requests_.erase(here);
    const rank_state& from = ranks_[static_cast<size_t>(k.from)];
    if (from.book == nullptr) continue;
    link& l = link_of(k.from, k.peer);
    if (l.now != link::phase::connecting || l.number != k.number) continue;  // closed or retried meanwhile
    external_peer_book* book = ranks_[static_cast<size_t>(station)].book;
    const auto refuse = [&](contact::state what, const char* why) {
      l.now = link::phase::unsuccessful;
      l.result = {what, why};
    };
    if (book == nullptr || separated(k.from, station)) {
      refuse(contact::state::gone, "the runtime of that address has gone");
    } else if (!book->accepts_external_peers()) {
      refuse(contact::state::refused, "it does not accept connections; set LCI_ATTR_ACCEPT_EXTERNAL_PEERS=1");
    } else if (const int peer = book->admit(); peer < 0) {
      refuse(contact::state::refused, "it has no free peer ids; raise LCI_ATTR_MAX_PEERS");
    } else {
      link_of(station, peer) = {.now = link::phase::connected, .station = k.from, .there = k.peer};
      l.now = link::phase::connected;
      l.there = peer;
      book->on_connected(peer);
      from.book->on_connected(k.peer);
    }
  }
}

contact world::contact_with(int station, int peer) {
  std::lock_guard lock(mutex_);
  link& l = link_of(station, peer);
  if (l.now == link::phase::connecting &&
      (ranks_[static_cast<size_t>(l.station)].book == nullptr || separated(station, l.station))) {
    l.now = link::phase::unsuccessful;
    l.result = {contact::state::gone, "the runtime of that address has gone"};
  }
  if (l.now == link::phase::connecting) return {};
  if (l.now == link::phase::idle) return {contact::state::gone, "disconnect() has closed the connection"};
  if (l.now != link::phase::unsuccessful) return {contact::state::made, {}};
  contact result = l.result;
  finish(station, peer, departure::disconnected);
  return result;
}

void world::disconnect(int station, int peer) {
  std::lock_guard lock(mutex_);
  link& l = link_of(station, peer);
  switch (l.now) {
    case link::phase::idle:
      return;
    case link::phase::connecting:
    case link::phase::unsuccessful:
    case link::phase::over:
      return finish(station, peer, departure::disconnected);
    case link::phase::ending:
      l.released = true;
      return;
    case link::phase::connected:
      begin_end(l.station, l.there, departure::left);
      begin_end(station, peer, departure::disconnected);
  }
}

void world::begin_end(int station, int peer, departure how) {
  rank_state& s = ranks_[static_cast<size_t>(station)];
  if (s.book == nullptr) return;
  link& l = link_of(station, peer);
  if (l.now != link::phase::connected) return;
  l.now = link::phase::ending;
  l.how = how;
  l.released = how == departure::disconnected;
  for (device* d : s.devices)
    if (d != nullptr) {
      ++l.devices_left;
      d->part_from(peer, how);
    }
  if (l.devices_left == 0) finish(station, peer, how);
}

void world::dealt_with(int station, int peer) {
  if (ranks_[static_cast<size_t>(station)].book == nullptr) return;
  link& l = link_of(station, peer);
  if (--l.devices_left == 0) finish(station, peer, l.how);
}

void world::finish(int station, int peer, departure how) {
  link& l = link_of(station, peer);
  const bool to_program = how != departure::disconnected && !l.released;
  l = {.now = to_program ? link::phase::over : link::phase::idle};
  ranks_[static_cast<size_t>(station)].book->retire(peer, to_program ? how : departure::disconnected);
}

}  // namespace lci::network::sim
