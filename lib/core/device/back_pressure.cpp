// Back-pressure on threads that post: they make progress when too much waits in the backlog, or when a peer asks
// them to pause their sends.
#include "lib/core/device/device.hpp"

namespace lci::core {

namespace {

/// Until `over()`: progress, and sleep where nothing happens.
template <class F>
void make_progress_until(device& d, F over) {
  for (int idle = 0; !over();) {
    idle = d.progress() ? 0 : idle + 1;
    if (idle > 1000) d.net->wait(100);
  }
}

}  // namespace

void device::await_backlog(int peer) {
  make_progress_until(*this, [&] { return backlog.bytes_for(peer) <= attr.backlog_bytes; });
}

void device::await_end_of_pause(int peer) {
  make_progress_until(*this, [&] { return !sends_pause(peer); });
}

bool device::is_paused_by(int peer) {
  if (!flow.is_paused_by(peer)) return false;
  // Perhaps the peer waits for us as well, since it sends and does not receive either.
  if (const auto w = flow.give_more(peer); w.number != 0) tell_pause(peer, w);
  // Or for others that wait for us. Ids of peers outside of the job are no ranks.
  if (peer >= n_ranks) return true;
  if (const uint32_t number = flow.note_refusal(peer); number != 0) search_circle(peer, rt.rank(), number);
  return true;
}

void device::search_circle(int peer, int begun_by, uint32_t number) {
  wire::header head;
  head.what = wire::kind::send_pause;
  head.policy = wire::search;
  head.word = number;
  head.tag = static_cast<uint64_t>(begun_by);
  if (!send_or_queue(peer, head)) flow.forget_refusal(peer);
}

bool device::receive_search(int peer, const wire::message& m) {
  if (peer >= n_ranks || m.head.tag >= static_cast<uint64_t>(n_ranks)) return false;
  const auto begun_by = static_cast<int>(m.head.tag);
  if (begun_by == rt.rank()) {  // we wait for somebody who waits for this peer, which waits for us
    if (const auto w = flow.give_more(peer); w.number != 0) tell_pause(peer, w);
    return true;
  }
  flow.pass_on(begun_by, m.head.word, [&](int to) { search_circle(to, begun_by, m.head.word); });
  return true;
}

void device::tell_pause(int peer, unexpected_flow::word w) {
  wire::header head;
  head.what = wire::kind::send_pause;
  head.policy = w.pause ? wire::pause : wire::go_on;
  head.word = w.number;
  if (send_or_queue(peer, head)) return;
  // A peer that is to go on would wait for ever: progress() tries again.
  flow.keep_unsaid(peer, w);
  if (!pauses_unsaid_.exchange(true, std::memory_order_acq_rel)) attention.fetch_add(1, std::memory_order_relaxed);
}

bool device::tell_unsaid_pauses() {
  if (!pauses_unsaid_.exchange(false, std::memory_order_acq_rel)) return false;
  attention.fetch_sub(1, std::memory_order_relaxed);
  flow.for_each_unsaid([this](int peer, unexpected_flow::word w) { tell_pause(peer, w); });
  return true;
}

bool device::receive_pause(int peer, const wire::message& m) {
  if (m.head.policy > wire::search) return false;
  if (m.head.policy == wire::search) return receive_search(peer, m);
  note_pauses(flow.hear(peer, {m.head.word, m.head.policy == wire::pause}));
  return true;
}

void device::note_pauses(int change) {
  if (change == 0) return;
  std::lock_guard guard(pauses_lock_);
  pauses_ += change;
  if (pauses_ > 0)
    not_plain.fetch_or(peer_pauses, std::memory_order_relaxed);
  else
    not_plain.fetch_and(static_cast<uint8_t>(~peer_pauses), std::memory_order_relaxed);
}

}  // namespace lci::core
