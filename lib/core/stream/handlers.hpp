// Handlers of the messages of streams. Each returns false if the message makes no sense: the device then rejects it.
#pragma once

#include <cstddef>

#include "lib/core/wire/wire.hpp"

namespace lci::core {

class device;

// stream_order.cpp: at the target
bool receive_ordered(device& d, int peer, wire::message& m);
/// Delivers a message of a stream if its header is_ordered_am(), its handler reads messages in place, and it is the
/// next of its stream. Otherwise returns false, without effect. `message` begins with the header.
bool receive_ordered_at_once(device& d, int peer, const std::byte* message, size_t message_size);
bool receive_ordered_rts(device& d, int peer, wire::message& m);
// stream.cpp: at the sender
bool receive_credit(device& d, int peer, wire::message& m);

}  // namespace lci::core
