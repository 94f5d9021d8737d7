#include "network/shm/device_entries.hpp"

#include "network/shm/lane_pool.hpp"

namespace lci::network::shm {

uint32_t open_entry(const segment_view& segment, uint32_t number) {
  for (uint32_t i = 0; i < max_devices; ++i) {
    const uint32_t place = (number + i) % max_devices;
    auto& announced = segment.device(place).announced;
    const uint32_t state = device_entry::state_in(announced.load(std::memory_order_acquire));  // A3: pairs with R3
    if (state != device_entry::absent && state % 4 != device_entry::free) continue;
    clear_directory(segment, place);
    announced.store(device_entry::pack(open_state(number), 0), std::memory_order_release);  // R1
    segment.header().devices_made.store(number + 1, std::memory_order_release);             // R2: A2
    return place;
  }
  return ~0u;
}

void close_entry(const segment_view& segment, uint32_t place) {
  static_assert(device_entry::closed == device_entry::open + 1);
  segment.device(place).announced.fetch_add(device_entry::pack(1, 0), std::memory_order_acq_rel);
}

void free_entry(const segment_view& segment, uint32_t place) {
  static_assert(device_entry::free == device_entry::closed + 1);
  // R3: pairs with A3
  segment.device(place).announced.fetch_add(device_entry::pack(1, 0), std::memory_order_acq_rel);
}

presence find_entry(const segment_view& segment, uint32_t number, uint32_t& place) {
  // A2: pairs with R2 in open_entry(): the devices counted there had their entries
  if (segment.header().devices_made.load(std::memory_order_acquire) <= number) return presence::not_yet;
  for (uint32_t i = 0; i < max_devices; ++i) {
    place = (number + i) % max_devices;
    const uint32_t state =
        device_entry::state_in(segment.device(place).announced.load(std::memory_order_acquire));  // A1: pairs with R1
    if (state == open_state(number)) return presence::open;
    if (state == device_entry::absent) break;  // no device was ever placed behind this entry
  }
  return presence::closed;
}

}  // namespace lci::network::shm
