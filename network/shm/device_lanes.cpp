// The lanes of a device: those it opens to send, and those that peers open to it.
#include <algorithm>
#include <new>

#include "lci/errors.hpp"
#include "lib/base/log.hpp"
#include "network/shm/device.hpp"
#include "network/shm/device_entries.hpp"
#include "network/shm/lane_pool.hpp"

namespace lci::network::shm {

out_lane* device::open_lane(int peer, errorcode_t& why) {
  try {
    return open_or_find(peer, why);
  } catch (const std::bad_alloc&) {
    why = errorcode_t::retry_nomem;
    return nullptr;
  }
}

out_lane* device::open_or_find(int peer, errorcode_t& why) {
  std::lock_guard guard(mutex_);
  const int thread = thread_index();
  out_lane* lane = lane_of(thread, peer);
  if (lane != nullptr) return lane;  // opened by another thread with the last index
  const bool external_peer = context_.is_external(peer);
  // Allocate memory first: a lane that was announced must not be lost.
  make_row(thread);
  make_row(max_thread_index);
  if (thread != max_thread_index && !external_peer) lane = make_lane(peer, lane_use::one_thread, why);
  if (lane == nullptr && (why != errorcode_t::fatal || external_peer)) {
    lane = lane_of(max_thread_index, peer);
    if (lane == nullptr) lane = external_peer ? make_external_lane(peer, why) : make_lane(peer, lane_use::threads, why);
    if (lane != nullptr) set_lane(max_thread_index, peer, lane);
  }
  if (lane != nullptr) set_lane(thread, peer, lane);
  return lane;
}

void device::make_row(int thread) {
  auto& place = row_of(thread);
  if (place.load(std::memory_order_relaxed) != nullptr) return;
  owned_rows_.push_back(std::make_unique<lane_slot[]>(static_cast<size_t>(context_.n_ids())));
  place.store(owned_rows_.back().get(), std::memory_order_release);  // R6: pairs with A6 in lanes_of()
}

void device::set_lane(int thread, int peer, out_lane* lane) {
  lane_slot* const row = row_of(thread).load(std::memory_order_relaxed);
  row[peer].store(lane, std::memory_order_release);  // R5: pairs with A5 in lane_of()
}

out_lane* device::make_lane(int peer, lane_use use, errorcode_t& why) {
  segment_view segment;
  try {
    segment = context_.segment_of(peer);
  } catch (const shortage_error& e) {
    warn_of_delay(e);
    why = errorcode_t::retry_nomem;
    return nullptr;
  } catch (const peer_failure_error&) {
    note_gone(peer);
    why = errorcode_t::fatal;
    return nullptr;
  }
  uint32_t entry = 0;
  const presence there = find_entry(segment, place_.number, entry);
  const bool never = there == presence::closed || context_.has_left(peer) || context_.has_failed(peer);
  why = never ? errorcode_t::fatal : errorcode_t::retry_nomem;
  if (never) note_closed(peer);
  if (never || there == presence::not_yet) return nullptr;
  const uint32_t index = take_lane(segment, use);
  if (index == ~0u) {
    if (use == lane_use::threads) warn_of_shortage(peer);
    return nullptr;
  }
  try {
    owned_out_.push_back(std::make_unique<out_lane>(segment, index, segment.device(entry), use == lane_use::threads,
                                                    context_.prefetches_lines()));
  } catch (...) {
    return_lane(segment, index);
    throw;
  }
  out_lane& lane = *owned_out_.back();
  lane.shared().source = context_.rank();
  lane.shared().thread = use == lane_use::one_thread ? thread_index() : max_thread_index;
  lane.target = peer;
  const announcement result = announce_lane(segment, entry, open_state(place_.number), index, use);
  if (result == announcement::made) return &lane;
  owned_out_.pop_back();
  if (result == announcement::closed) {
    why = errorcode_t::fatal;
    close_end(segment, index, lane_header::sender);
    note_closed(peer);
  } else {
    return_lane(segment, index);
    if (use == lane_use::threads) warn_of_shortage(peer);
  }
  return nullptr;
}

void device::note_closed(int peer) {
  // A failed peer is reported as failed instead.
  if (context_.has_failed(peer)) return;
  if (std::find(closed_peers_.begin(), closed_peers_.end(), peer) == closed_peers_.end()) closed_peers_.push_back(peer);
}

void device::note_gone(int peer) {
  context_.hear_of(peer);  // reports a failure if its process has died
  if (context_.has_left(peer)) note_closed(peer);
}

void device::warn_of_shortage(int peer) {
  if (warned_of_shortage_) return;
  warned_of_shortage_ = true;
  log_warning("shm: rank " + std::to_string(peer) +
              " has no free lane for this rank; messages to it are delayed. Raise "
              "LCI_ATTR_SHM_SEGMENT_SIZE, or let fewer threads and devices send");
}

void device::add_counts(counters_t& sum) {
  std::lock_guard guard(mutex_);
  for (const auto& lane : owned_in_) {
    lane->written().add_to(sum.lines_written);
    lane->long_pauses().add_to(sum.long_pauses);
  }
  for (const auto& lane : owned_out_) lane->fetched().add_to(sum.lines_prefetched);
}

void device::adopt_lanes() {
  std::lock_guard guard(mutex_);
  try {
    adopt_listed();
  } catch (const std::bad_alloc&) {
    // The announced lanes stay in the directory; the next poll tries again.
  }
}

void device::adopt_listed() {
  const uint32_t announced = std::min(device_entry::lanes_in(entry_.announced.load(std::memory_order_acquire)),  // A3
                                      max_lanes_per_device);
  const directory_entry* directory = context_.own().directory(place_.entry);
  const uint32_t before = n_in_lanes_.load(std::memory_order_relaxed);
  for (auto n = static_cast<uint32_t>(owned_in_.size()); n < announced; ++n) {
    const uint32_t lane = directory[n].load(std::memory_order_acquire);
    if (lane == 0 || lane > context_.own().shape().n_lanes) break;  // not trusted
    owned_in_.push_back(std::make_unique<in_lane>(context_.own(), lane - 1, context_.rank(), context_.writes_lines(),
                                                  context_.pauses_long()));
    in_lane& made = *owned_in_.back();
    if (made.source() >= 0 && made.source() < context_.n_ids())
      context_.hear_of(made.source());
    else
      made.end();  // not trusted either: the core has no such peer
  }
  if (owned_in_.size() == before) return;
  // A new array each time, as pollers may still read the old one.
  lane_arrays_.push_back(std::make_unique<lane_place[]>(owned_in_.size()));
  lane_place* lanes = lane_arrays_.back().get();
  for (size_t i = 0; i < owned_in_.size(); ++i) lanes[i].store(owned_in_[i].get(), std::memory_order_relaxed);
  in_lanes_.store(lanes, std::memory_order_release);  // R2: pairs with A2 in poll()
  const auto n = static_cast<uint32_t>(owned_in_.size());
  n_lively_lanes_.store(std::min(n, lanes_of_each_poll), std::memory_order_relaxed);
  n_in_lanes_.store(n, std::memory_order_release);                                         // R4: A4
  n_few_lanes_.store(n > lanes_of_each_poll ? many_lanes : n, std::memory_order_release);  // R4: A4
  share_lanes_out();
}

}  // namespace lci::network::shm
