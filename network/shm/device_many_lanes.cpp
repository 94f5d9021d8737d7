// Polls of a device that has many lanes, most of which are silent, as those of a server's clients.
#include <algorithm>

#include "network/shm/device.hpp"

namespace lci::network::shm {

namespace {

constexpr uint32_t lanes_in_turn = 16;  // of those that not every poll visits

}  // namespace

int device::poll_many_lanes(event_sink& sink, poller* me, uint32_t n_lanes, const in_lane* left) {
  lane_place* const lanes = in_lanes_.load(std::memory_order_acquire);  // A2
  int events = 0;
  bool found = false;
  const auto is_due = [&](uint32_t i) {
    in_lane* const lane = lanes[i].load(std::memory_order_relaxed);
    return lane != left && lane->is_due();
  };
  for (uint32_t i = 0; i < lanes_of_each_poll && !found; ++i) {
    if (!is_due(i)) continue;
    found = true;
    events += std::max(drain(sink, lanes + i, lanes_of_each_poll - i, me, left), 0);
  }
  std::atomic<uint32_t>& turn = me == nullptr ? turn_ : me->turn;
  uint32_t first = turn.load(std::memory_order_relaxed);
  if (first < lanes_of_each_poll || first >= n_lanes) first = lanes_of_each_poll;
  const uint32_t end = std::min(first + lanes_in_turn, n_lanes);
  turn.store(end, std::memory_order_relaxed);
  for (uint32_t i = first; i < end; ++i) {
    if (!is_due(i)) continue;
    found = true;
    events += std::max(drain(sink, lanes + i, 1, me, left), 0);
    move_forward(lanes, i);
  }
  return events > 0 || !found ? events : -1;
}

// Threads read the elements meanwhile. One that finds a lane twice, and misses another, finds that in its next poll; for
// one that would sleep then, see any_lane().
void device::move_forward(lane_place* lanes, uint32_t i) {
  const std::unique_lock guard(mutex_, std::try_to_lock);
  if (!guard.owns_lock() || in_lanes_.load(std::memory_order_relaxed) != lanes) return;
  lane_place& front = lanes[moved_++ % lanes_of_each_poll];
  in_lane* const silent = front.load(std::memory_order_relaxed);
  front.store(lanes[i].load(std::memory_order_relaxed), std::memory_order_relaxed);
  lanes[i].store(silent, std::memory_order_relaxed);
}

}  // namespace lci::network::shm
