#include "lib/core/runtime/external_peers.hpp"

#include <cstdlib>
#include <string>

#include "lib/base/check.hpp"
#include "lib/core/device/device_visit.hpp"
#include "lib/core/match/unexpected.hpp"
#include "lib/core/runtime/runtime.hpp"

namespace lci::core {

external_peers::external_peers(runtime& rt, int first, int capacity, bool accepts)
    : external_peer_book(first, capacity, accepts),
      rt_(rt),
      states_(new std::atomic<state>[static_cast<size_t>(capacity)]()),
      next_(new int[static_cast<size_t>(capacity)]) {}

void external_peers::append(id_list& to, int peer) noexcept {
  next(peer) = none;
  (to.oldest == none ? to.oldest : next(to.newest)) = peer;
  to.newest = peer;
}

int external_peers::take_oldest(id_list& from) noexcept {
  const int peer = from.oldest;
  if (peer != none) from.oldest = next(peer);
  return peer;
}

void external_peers::remove(id_list& from, int peer) noexcept {
  for (int before = none, at = from.oldest; at != none; before = at, at = next(at)) {
    if (at != peer) continue;
    (before == none ? from.oldest : next(before)) = next(peer);
    if (from.newest == peer) from.newest = before;
    return;
  }
}

int external_peers::admit() {
  int peer = none;
  {
    std::lock_guard guard(mutex_);
    peer = take_oldest(returned_);
    if (peer == none) peer = n_used_ < capacity() ? first() + n_used_++ : take_oldest(left_);
    if (peer == none) return -1;
    at(peer).store(state::coming, std::memory_order_seq_cst);
  }
  try {
    clear(peer);
  } catch (...) {
    retire(peer, network::departure::disconnected);
    throw;
  }
  return peer;
}

void external_peers::on_connected(int peer) { at(peer).store(state::connected, std::memory_order_seq_cst); }

void external_peers::end(int peer, network::departure how) {
  constexpr state becomes[] = {state::disconnected, state::left, state::died};
  state now = at(peer).load(std::memory_order_seq_cst);
  // The first end counts; a later disconnect() of the program takes effect in retire().
  while (now == state::coming || now == state::connected)
    if (at(peer).compare_exchange_weak(now, becomes[static_cast<int>(how)], std::memory_order_seq_cst)) return;
}

void external_peers::retire(int peer, network::departure how) noexcept {
  std::lock_guard guard(mutex_);
  switch (how) {
    case network::departure::disconnected:
      // Its peer may have closed the connection before.
      remove(left_, peer);
      at(peer).store(state::free, std::memory_order_seq_cst);
      append(returned_, peer);
      break;
    case network::departure::left:
      at(peer).store(state::left, std::memory_order_seq_cst);
      append(left_, peer);
      break;
    case network::departure::died:  // the id stays taken until disconnect()
      at(peer).store(state::died, std::memory_order_seq_cst);
      break;
  }
}

void external_peers::clear(int peer) {
  rt_.streams.begin_anew(peer);
  rt_.engines.remove_unexpected([&](unexpected& u) {
    if (u.peer != peer) return false;
    const device_visit via(rt_, u.device_uid);
    free_unexpected(via.get(), &u);  // sends nothing to the peer: its pause state was reset
    return true;
  });
}

void external_peers::check(int peer) const {
  const std::string who = "rank " + std::to_string(peer);
  switch (at(peer).load(std::memory_order_seq_cst)) {
    case state::connected:
      return;
    case state::free:
    case state::coming:
      throw_invalid("post", "rank", std::to_string(peer), "an id that connect() gave, or a status",
                    "no peer outside of the job is connected under this id");
    case state::disconnected:
      throw peer_failure_error(peer, who + " was disconnected by this process");
    case state::left:
      throw peer_failure_error(peer, who + ", a peer outside of the job, has disconnected");
    case state::died:
      throw peer_failure_error(
          peer, who +
                    ", a peer outside of the job, has failed: its process has "
                    "ended without a close notification, or its host does not answer; disconnect() frees the id");
  }
}

}  // namespace lci::core
