// Which entry of a segment belongs to which device. Ranks make their devices in the same order but
// free them when they like, so each has its devices where it has room, and peers look for them.
#pragma once

#include <cstdint>

#include "network/shm/layout.hpp"

namespace lci::network::shm {

/// What the entry of a device says (see device_entry::announced) while the device is open.
constexpr uint32_t open_state(uint32_t number) { return number * 4 + device_entry::open; }

/// Opens an entry for the device and returns its place; ~0 if max_devices are open. For the owner of
/// the segment: by one thread at a time, in ascending order of the devices.
uint32_t open_entry(const segment_view& segment, uint32_t number);
/// No lane will be announced to it any more. What was announced is to be dealt with before
/// free_entry(), after which another device may have the entry.
void close_entry(const segment_view& segment, uint32_t place);
void free_entry(const segment_view& segment, uint32_t place);

enum class presence { unknown, not_yet, open, closed };

/// Looks for a device; if it is open, `place` is where. Never `unknown`.
presence find_entry(const segment_view& segment, uint32_t number, uint32_t& place);

}  // namespace lci::network::shm
