// Allocation of a segment's lanes, and how a device learns about the lanes that lead to it. Used by the segment's owner
// and by its peers, any of which may die at any moment: an unfinished operation costs at most a lane, and blocks no
// other process.
#pragma once

#include <cstdint>

#include "network/shm/layout.hpp"

namespace lci::network::shm {

/// Who sends through a lane. A quarter of all lanes is reserved for shared ones, so that threads can still send when
/// the others have taken lanes of their own.
enum class lane_use { one_thread, threads };

/// Returns ~0 if none is left for that use.
uint32_t take_lane(const segment_view& segment, lane_use use);
void return_lane(const segment_view& segment, uint32_t lane);

enum class announcement { made, closed, no_room };

/// Adds a lane to the device's directory, if the device is in that state (see state_in()). `closed`: the device was
/// closed meanwhile, and will not use the lane.
announcement announce_lane(const segment_view& segment, uint32_t device, uint32_t state, uint32_t lane, lane_use use);

/// Empties the directory of a device that is not open. Called by the segment's owner.
void clear_directory(const segment_view& segment, uint32_t device);

/// Closes one end of a lane; when both ends are closed, the lane is returned.
void close_end(const segment_view& segment, uint32_t lane, lane_header::closed_by end);

}  // namespace lci::network::shm
