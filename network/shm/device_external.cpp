// Peers outside of the job: their lanes come and go while the device exists.
//
// Messages to them are always sent under the lane's lock, which is also held while a lane is taken away: a thread that
// finds a lane in its row, and still finds it there after locking it, may use it. The lane objects are never freed, so
// locking one that was taken away is harmless.
#include <algorithm>
#include <new>

#include "network/shm/device.hpp"
#include "network/shm/device_entries.hpp"
#include "network/shm/lane_pool.hpp"

namespace lci::network::shm {

out_lane* device::make_external_lane(int peer, errorcode_t& why) {
  why = errorcode_t::fatal;
  external_peers::route to;
  uint32_t entry = 0;
  if (!context_.external_peers()->find_route(peer, to)) return nullptr;
  const presence there = find_entry(to.segment, place_.number, entry);
  if (there != presence::closed) why = errorcode_t::retry_nomem;
  if (there != presence::open) return nullptr;
  // Room for all lanes now, since a lane that is taken away can't wait for memory.
  if (spare_out_.capacity() <= owned_out_.size()) spare_out_.reserve(2 * owned_out_.size() + 1);
  const uint32_t index = take_lane(to.segment, lane_use::threads);
  if (index == ~0u) {
    warn_of_shortage(peer);
    return nullptr;
  }
  out_lane* lane;
  if (spare_out_.empty()) {
    try {
      owned_out_.push_back(
          std::make_unique<out_lane>(to.segment, index, to.segment.device(entry), true, context_.prefetches_lines()));
    } catch (const std::bad_alloc&) {
      return_lane(to.segment, index);
      throw;
    }
    lane = owned_out_.back().get();
  } else {
    lane = spare_out_.back();
    spare_out_.pop_back();
    std::lock_guard guard(lane->lock);
    lane->lead_to(to.segment, index, to.segment.device(entry));
  }
  if (to.connection_area.announce_lane(to.there, entry, index)) {
    to.connection_area.changes().fetch_add(1, std::memory_order_release);  // R8: pairs with A8 in poll()
    return lane;
  }
  why = errorcode_t::fatal;
  return_lane(to.segment, index);
  spare_out_.push_back(lane);
  return nullptr;
}

void device::take_lane_away(int peer) {
  std::lock_guard guard(mutex_);
  out_lane* lane = lane_of(max_thread_index, peer);
  if (lane == nullptr) return;
  {
    std::lock_guard in_use(lane->lock);
    for (auto& place : rows_)
      if (lane_slot* row = place.load(std::memory_order_relaxed)) row[peer].store(nullptr, std::memory_order_relaxed);
  }
  close_end(lane->segment(), lane->index(), lane_header::sender);
  spare_out_.push_back(lane);
}

void device::adopt_external_lanes() {
  std::lock_guard guard(mutex_);
  context_.external_peers()->for_each_connected([&](int peer, slot_number here) { adopt_announced(peer, here); });
}

void device::adopt_announced(int peer, slot_number here) {
  const uint32_t lane = context_.external_peers()->connection_area().announced_lane(here, place_.entry);
  if (lane == 0 || lane > context_.own().shape().n_lanes) return;  // not trusted
  if (external_lane_of(peer) == nullptr) adopt_external_lane(peer, lane - 1);
}

void device::adopt_external_lane(int peer, uint32_t index) {
  for (in_lane* lane : external_in_) {
    if (lane->index() != index) continue;
    if (lane->source() >= 0) return;  // in use: the announcement is invalid
    // Not in use: a thread that holds its lock releases it at once, and runs no handler.
    std::lock_guard guard(lane->lock);
    return lane->begin(peer);
  }
  // This device uses the lane for the first time: add it to the directory like a rank's lane, so that it is polled.
  context_.own().lane(index).source = peer;
  if (announce_lane(context_.own(), place_.entry, open_state(place_.number), index, lane_use::threads) !=
      announcement::made)
    return;
  adopt_listed();
  for (const auto& lane : owned_in_)
    if (lane->index() == index && lane->source() == peer) external_in_.push_back(lane.get());
}

in_lane* device::external_lane_of(int peer) const {
  const auto at = std::find_if(external_in_.begin(), external_in_.end(),
                               [=](const in_lane* lane) { return lane->source() == peer; });
  return at == external_in_.end() ? nullptr : *at;
}

bool device::close_external_lane(const external_peers::ending& e) {
  std::lock_guard guard(mutex_);
  // A short connection may end before its lane was adopted.
  if (e.how != departure::disconnected) adopt_announced(e.peer, e.here);
  if (in_lane* lane = external_lane_of(e.peer)) {
    if (!lane->lock.try_lock()) return false;
    std::lock_guard polled(lane->lock, std::adopt_lock);
    // Deliver what the peer has sent before it closed.
    if (e.how != departure::disconnected && lane->ready()) return false;
    lane->end();
  }
  context_.external_peers()->make_room_for_lane();  // before seal(), which gives the lane once
  const uint32_t lane = context_.external_peers()->connection_area().seal(e.here, place_.entry);
  if (lane == 0 || lane > context_.own().shape().n_lanes) return true;
  if (e.how == departure::died)
    close_end(context_.own(), lane - 1, lane_header::sender);
  else
    context_.external_peers()->look_after_lane(e, lane - 1);
  close_end(context_.own(), lane - 1, lane_header::receiver);
  return true;
}

bool device::check_external_peers(event_sink& sink) {
  if (looking_.exchange(true, std::memory_order_acquire)) return false;
  struct leaving {
    std::atomic<bool>& looking;
    ~leaving() { looking.store(false, std::memory_order_release); }
  } const at_end{looking_};
  external_peers& all = *context_.external_peers();
  const bool looked = all.look();
  adopt_external_lanes();
  external_peers::ending e;
  while (all.find_ending(next_ending_, e)) {
    take_lane_away(e.peer);
    if (!close_external_lane(e)) return false;
    ++next_ending_;
    struct dealing {
      external_peers& all;
      uint64_t number;
      ~dealing() { all.dealt_with(number); }
    } const dealt{all, e.number};
    sink.on_peer_departure(e.peer, e.how);
  }
  return looked;
}

void device::leave_external_peers() {
  if (context_.external_peers() == nullptr) return;
  adopt_external_lanes();
  context_.external_peers()->for_each_connected(
      [&](int, slot_number here) { context_.external_peers()->connection_area().unlist(here, place_.entry); });
  for (in_lane* lane : external_in_)
    if (lane->source() >= 0) {
      lane->end();
      close_end(context_.own(), lane->index(), lane_header::receiver);
    }
  context_.external_peers()->remove_device(next_ending_);
}

}  // namespace lci::network::shm
