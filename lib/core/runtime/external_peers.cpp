#include "lib/core/runtime/external_peers.hpp"

#include <algorithm>
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
      states_(new std::atomic<state>[static_cast<size_t>(capacity)]()) {}

int external_peers::admit() {
  int peer = -1;
  {
    std::lock_guard guard(mutex_);
    std::deque<int>& used = returned_.empty() && n_used_ == capacity() ? left_ : returned_;
    if (!used.empty()) {
      peer = used.front();
      used.pop_front();
    } else if (n_used_ < capacity()) {
      peer = first() + n_used_++;
    } else {
      return -1;
    }
    at(peer).store(state::coming, std::memory_order_seq_cst);
  }
  clear(peer);
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

void external_peers::retire(int peer, network::departure how) {
  std::lock_guard guard(mutex_);
  switch (how) {
    case network::departure::disconnected:
      // Its peer may have closed the connection before.
      left_.erase(std::remove(left_.begin(), left_.end(), peer), left_.end());
      at(peer).store(state::free, std::memory_order_seq_cst);
      returned_.push_back(peer);
      break;
    case network::departure::left:
      at(peer).store(state::left, std::memory_order_seq_cst);
      left_.push_back(peer);
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
