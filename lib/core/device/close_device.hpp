// The end of a device, and of those of its peers.
#pragma once

#include <cstdint>

#include "lib/base/cpu.hpp"
#include "lib/core/wire/wire.hpp"

namespace lci::core {

class device;

/// Ends outstanding operations, here and at the peers, as `cancelled`, and waits until messages have been sent.
/// Stops waiting for a peer that makes no progress after attr.close_timeout.
void close_device(device& d);
/// After close_device(): deletes the device and its endpoints, then signals the operations that never completed.
void destroy_device(device* d);

/// A peer frees the device with which this one communicates.
LCI_COLD bool receive_device_end(device& d, int peer, wire::message& m);

}  // namespace lci::core
