// Which entry of a segment belongs to which device. Ranks make their devices in the same order but free them at any
// time, so a device takes any free entry, and peers search for it.
#pragma once

#include <cstdint>

#include "network/shm/layout.hpp"

namespace lci::network::shm {

/// The state of an open device's entry (see device_entry::announced).
constexpr uint32_t open_state(uint32_t number) { return number * 4 + device_entry::open; }

/// Opens an entry for the device and returns its place; ~0 if max_devices are open. Called by the owner of the segment,
/// by one thread at a time, in ascending order of the devices.
uint32_t open_entry(const segment_view& segment, uint32_t number);
/// After this no lane can be announced to the device. Handle the announced ones before free_entry(), after which
/// another device may use the entry.
void close_entry(const segment_view& segment, uint32_t place);
void free_entry(const segment_view& segment, uint32_t place);

enum class presence { unknown, not_yet, open, closed };

/// Searches for a device; if it is open, sets `place`. Never returns `unknown`.
presence find_entry(const segment_view& segment, uint32_t number, uint32_t& place);

}  // namespace lci::network::shm
