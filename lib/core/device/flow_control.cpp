#include "lib/core/device/flow_control.hpp"

#include <mutex>

#include "lib/core/device/device.hpp"
#include "lib/core/device/sending.hpp"

namespace lci::core {

bool flow_control::is_paused_by(int peer) {
  if (!window_.is_paused_by(peer)) return false;
  // Perhaps the peer waits for this rank as well, since it sends and does not receive either.
  if (const auto resume = window_.give_more(peer); resume.number != 0) send_pause(peer, resume);
  // Or for others that wait for this rank. Ids of peers outside of the job are no ranks.
  if (peer >= device_.n_ranks) return true;
  if (const uint32_t number = window_.note_refusal(peer); number != 0) send_search(peer, device_.rt.rank(), number);
  return true;
}

void flow_control::send_search(int peer, int begun_by, uint32_t number) {
  wire::header head;
  head.what = wire::kind::send_pause;
  head.policy = wire::search;
  head.word = number;
  head.tag = static_cast<uint64_t>(begun_by);
  if (!send_or_queue(device_, peer, head)) window_.forget_refusal(peer);
}

bool flow_control::receive_search(int peer, const wire::message& m) {
  const int n_ranks = device_.n_ranks;
  if (peer >= n_ranks || m.head.tag >= static_cast<uint64_t>(n_ranks)) return false;
  const auto begun_by = static_cast<int>(m.head.tag);
  if (begun_by == device_.rt.rank()) {  // this rank waits for some rank that waits for `peer`, which waits for this one
    if (const auto resume = window_.give_more(peer); resume.number != 0) send_pause(peer, resume);
    return true;
  }
  window_.pass_on(begun_by, m.head.word, [&](int to) { send_search(to, begun_by, m.head.word); });
  return true;
}

void flow_control::send_pause(int peer, unexpected_flow::pause_message m) {
  wire::header head;
  head.what = wire::kind::send_pause;
  head.policy = m.pause ? wire::pause : wire::go_on;
  head.word = m.number;
  if (send_or_queue(device_, peer, head)) return;
  // A peer that may resume would wait for ever: progress() tries again.
  window_.keep_unsent(peer, m);
  if (!waiting_.exchange(true, std::memory_order_acq_rel)) device_.attention.fetch_add(1, std::memory_order_relaxed);
}

bool flow_control::send_waiting() {
  if (!waiting_.exchange(false, std::memory_order_acq_rel)) return false;
  device_.attention.fetch_sub(1, std::memory_order_relaxed);
  window_.for_each_unsent([this](int peer, unexpected_flow::pause_message m) { send_pause(peer, m); });
  return true;
}

bool flow_control::receive(int peer, const wire::message& m) {
  if (m.head.policy > wire::search) return false;
  if (m.head.policy == wire::search) return receive_search(peer, m);
  count_pauses(window_.receive(peer, {m.head.word, m.head.policy == wire::pause}));
  return true;
}

void flow_control::forget(int peer) { count_pauses(window_.forget(peer)); }

void flow_control::count_pauses(int change) {
  if (change == 0) return;
  std::lock_guard guard(lock_);
  pauses_ += change;
  if (pauses_ > 0)
    device_.not_plain.fetch_or(device::peer_pauses, std::memory_order_relaxed);
  else
    device_.not_plain.fetch_and(static_cast<uint8_t>(~device::peer_pauses), std::memory_order_relaxed);
}

}  // namespace lci::core
