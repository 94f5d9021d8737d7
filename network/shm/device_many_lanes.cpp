// Polls of a device that has many lanes, most of which are silent, as those of a server's clients.
#include <algorithm>
#include <bit>
#include <utility>

#include "network/shm/device.hpp"

namespace lci::network::shm {

namespace {

// Lanes in turn that a poll visits, of those that not every poll visits: when it has found no message before, and when
// it has. A visit costs some 5 ns, which is added to the time of each message while there are some.
constexpr uint32_t lanes_in_turn = 16, lanes_in_turn_when_busy = 4;
// A lane without a message in so many polls of a thread is no longer visited by each one.
constexpr uint32_t polls_between_sorts = 4096;

void exchange(std::atomic<in_lane*>& a, std::atomic<in_lane*>& b) {
  in_lane* const lane = a.load(std::memory_order_relaxed);
  a.store(b.load(std::memory_order_relaxed), std::memory_order_relaxed);
  b.store(lane, std::memory_order_relaxed);
}

}  // namespace

int device::poll_many_lanes(event_sink& sink, poller* me, uint32_t n_lanes) {
  lane_place* const lanes = in_lanes_.load(std::memory_order_acquire);  // A2
  int events = 0;
  bool found = false;
  const auto is_due = [&](uint32_t i) { return lanes[i].load(std::memory_order_relaxed)->is_due(); };
  const uint32_t n_lively = n_lively_lanes_.load(std::memory_order_relaxed);
  // Of several threads, each visits those in front that it keeps, and all of the others.
  const uint32_t front = first_lanes(n_lively) & (me == nullptr || looks_further(*me) ? ~uint32_t{0} : visited_by(*me));
  for (uint32_t left = front; left != 0 && !found; left &= left - 1) {
    if (!is_due(static_cast<uint32_t>(std::countr_zero(left)))) continue;
    found = true;
    events += std::max(drain(sink, lanes, left, me), 0);
  }
  poller& mine = me == nullptr ? only_ : *me;
  uint32_t first = mine.turn.load(std::memory_order_relaxed);
  if (first < n_lively || first >= n_lanes) first = n_lively;
  const uint32_t end = std::min(first + (found ? lanes_in_turn_when_busy : lanes_in_turn), n_lanes);
  mine.turn.store(end, std::memory_order_relaxed);
  for (uint32_t i = first; i < end; ++i) {
    if (!is_due(i)) continue;
    found = true;
    events += std::max(drain(sink, lanes + i, 1, me), 0);
    move_forward(lanes, i);
  }
  const uint32_t polls = mine.polls_since_sort.load(std::memory_order_relaxed) + 1;
  mine.polls_since_sort.store(polls < polls_between_sorts ? polls : 0, std::memory_order_relaxed);
  if (LCI_UNLIKELY(polls >= polls_between_sorts)) move_silent_back(lanes);
  return events > 0 || !found ? events : -1;
}

// Threads read the elements meanwhile. One that finds a lane twice, and misses another, finds that in a later poll; for
// one that would sleep then, see any_lane().
void device::move_forward(lane_place* lanes, uint32_t i) {
  const std::unique_lock guard(mutex_, std::try_to_lock);
  if (!guard.owns_lock() || in_lanes_.load(std::memory_order_relaxed) != lanes) return;
  const uint32_t n_lively = n_lively_lanes_.load(std::memory_order_relaxed);
  if (i < n_lively) return;  // another thread has moved it
  lanes[i].load(std::memory_order_relaxed)->consumed_at_sort = in_lane::never_sorted;
  const bool has_room = n_lively < lanes_of_each_poll;
  exchange(lanes[has_room ? n_lively : moved_++ % lanes_of_each_poll], lanes[i]);
  if (has_room) n_lively_lanes_.store(n_lively + 1, std::memory_order_relaxed);
}

void device::move_silent_back(lane_place* lanes) {
  const std::unique_lock guard(mutex_, std::try_to_lock);
  if (!guard.owns_lock() || in_lanes_.load(std::memory_order_relaxed) != lanes) return;
  uint32_t n_lively = n_lively_lanes_.load(std::memory_order_relaxed);
  for (uint32_t i = n_lively; i-- > 0;) {
    in_lane& lane = *lanes[i].load(std::memory_order_relaxed);
    const uint64_t consumed = lane.consumed();
    if (std::exchange(lane.consumed_at_sort, consumed) == consumed) exchange(lanes[i], lanes[--n_lively]);
  }
  n_lively_lanes_.store(n_lively, std::memory_order_relaxed);
}

}  // namespace lci::network::shm
