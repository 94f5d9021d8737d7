// Sleeping until a message arrives. A sender must not pay for sleepers that don't exist: after publishing it only loads
// a counter. So the sleeper, not the sender, orders its announcement against the sender's stores, by a membarrier
// system call that acts on all processes of the job.
#pragma once

#include <cstdint>

#include "network/shm/layout.hpp"

namespace lci::network::shm {

/// Registers this process for the barriers of others. Call before anything is sent.
void prepare_bells();

/// Announces a sleeper. After it, either the sender sees the announcement, or the caller sees everything that the
/// sender published before it looked.
void announce_sleeper(device_entry& entry);

/// Sleeps until the bell has rung since `seen` was read, at most `timeout_us` microseconds.
void sleep_until_bell(device_entry& entry, uint32_t seen, int64_t timeout_us);

void ring(device_entry& entry);

}  // namespace lci::network::shm
