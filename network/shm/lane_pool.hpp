// Which lanes of a segment are taken, and how a device learns of those that lead to it. Used by the
// segment's owner and by its peers, any of which may die at any moment: whatever one has left undone
// costs at most a lane, and keeps nobody else waiting.
#pragma once

#include <cstdint>

#include "network/shm/layout.hpp"

namespace lci::network::shm {

/// Who will send through a lane. A quarter of all lanes is kept for lanes that are shared: so when
/// many threads have taken lanes of their own, the others still find a way.
enum class lane_use { one_thread, threads };

/// ~0 if none is left for that use.
uint32_t take_lane(const segment_view& segment, lane_use use);
void return_lane(const segment_view& segment, uint32_t lane);

enum class announcement { made, closed, no_room };

/// Puts a lane into the device's directory, if the device is in that state (see state_of()).
/// `closed`: the device has gone meanwhile; it will not look at the lane.
announcement announce_lane(const segment_view& segment, uint32_t device, uint32_t state,
                           uint32_t lane, lane_use use);

/// Empties the directory of a device that is not open. To be called by the segment's owner.
void clear_directory(const segment_view& segment, uint32_t device);

/// One end of a lane will not be used any more.
void close_end(const segment_view& segment, uint32_t lane, lane_header::closed_by end);

}  // namespace lci::network::shm
