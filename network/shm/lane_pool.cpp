#include "network/shm/lane_pool.hpp"

namespace lci::network::shm {

namespace {

uint32_t share_of(uint32_t all, lane_use use) { return use == lane_use::threads ? all : all - all / 4; }

/// Resets a lane that was used before to the state of a new one.
void clear(const segment_view& segment, uint32_t lane) {
  lane_header& l = segment.lane(lane);
  const slot_ring slots(slots_of(l), segment.shape().n_slots);
  for (uint32_t i = 0; i < segment.shape().n_slots; ++i) slots[i].word().store(0, std::memory_order_relaxed);
  l.head.store(0, std::memory_order_relaxed);
  l.data_head.store(0, std::memory_order_relaxed);
  l.uses.fetch_add(1, std::memory_order_relaxed);
  l.closed.store(0, std::memory_order_release);
}

}  // namespace

uint32_t take_lane(const segment_view& segment, lane_use use) {
  segment_header& h = segment.header();
  const uint32_t n_lanes = segment.shape().n_lanes;
  uint32_t in_use = h.lanes_in_use.load(std::memory_order_relaxed);
  do {
    if (in_use >= share_of(n_lanes, use)) return ~0u;
    // A2: pairs with R2 in return_lane(): a lane that is no longer counted can be taken
  } while (
      !h.lanes_in_use.compare_exchange_weak(in_use, in_use + 1, std::memory_order_acquire, std::memory_order_relaxed));
  uint64_t top = h.free_lanes.load(std::memory_order_acquire);  // A1: pairs with R1
  while (static_cast<uint32_t>(top) != 0) {
    const uint32_t lane = static_cast<uint32_t>(top) - 1;
    if (lane >= n_lanes) return ~0u;  // not trusted
    const uint64_t next = ((top >> 32) + 1) << 32 | segment.lane(lane).next_free;
    if (h.free_lanes.compare_exchange_weak(top, next, std::memory_order_acq_rel, std::memory_order_acquire)) {
      clear(segment, lane);
      return lane;
    }
  }
  uint32_t fresh = h.fresh_lanes.load(std::memory_order_relaxed);
  while (fresh < n_lanes)
    if (h.fresh_lanes.compare_exchange_weak(fresh, fresh + 1, std::memory_order_relaxed)) return fresh;
  return ~0u;
}

void return_lane(const segment_view& segment, uint32_t lane) {
  segment_header& h = segment.header();
  uint64_t top = h.free_lanes.load(std::memory_order_relaxed);
  do {
    segment.lane(lane).next_free = static_cast<uint32_t>(top);
  } while (!h.free_lanes.compare_exchange_weak(top, ((top >> 32) + 1) << 32 | (lane + 1),
                                               std::memory_order_acq_rel,  // R1: pairs with A1
                                               std::memory_order_relaxed));
  h.lanes_in_use.fetch_sub(1, std::memory_order_release);  // R2: pairs with A2
}

// A place is taken by the store that fills it, and counted afterwards. So all counted places are filled, and if a
// sender dies in between, the next sender counts its place.
announcement announce_lane(const segment_view& segment, uint32_t device, uint32_t state, uint32_t lane, lane_use use) {
  auto& announced = segment.device(device).announced;
  directory_entry* directory = segment.directory(device);
  uint64_t word = announced.load(std::memory_order_acquire);
  const uint32_t end = share_of(max_lanes_per_device, use);
  uint32_t place = device_entry::lanes_in(word);
  for (;; ++place) {
    if (place >= end) return announcement::no_room;
    uint32_t empty = 0;
    if (directory[place].compare_exchange_strong(empty, lane + 1, std::memory_order_acq_rel, std::memory_order_relaxed))
      break;
  }
  do {
    if (device_entry::state_in(word) != state) return announcement::closed;
    if (device_entry::lanes_in(word) > place) return announcement::made;  // counted by the next sender
  } while (!announced.compare_exchange_weak(word, device_entry::pack(state, place + 1),
                                            std::memory_order_acq_rel,  // R3: A3 in adopt_lanes()
                                            std::memory_order_acquire));
  return announcement::made;
}

void clear_directory(const segment_view& segment, uint32_t device) {
  directory_entry* directory = segment.directory(device);
  const uint32_t adopted = device_entry::lanes_in(segment.device(device).announced.load(std::memory_order_acquire));
  for (uint32_t i = 0; i < max_lanes_per_device; ++i) {
    const uint32_t lane = directory[i].exchange(0, std::memory_order_acq_rel);
    if (i < adopted) continue;
    if (lane == 0) break;
    // It came too late for the device that was in this entry.
    if (lane <= segment.shape().n_lanes) close_end(segment, lane - 1, lane_header::receiver);
  }
}

void close_end(const segment_view& segment, uint32_t lane, lane_header::closed_by end) {
  const uint32_t before = segment.lane(lane).closed.fetch_or(end, std::memory_order_acq_rel);
  if ((before | end) == (lane_header::sender | lane_header::receiver) && (before & end) == 0)
    return_lane(segment, lane);
}

}  // namespace lci::network::shm
