// Handlers of the messages of streams. Each returns false if the message makes no sense: the device then rejects it.
#pragma once

#include <cstddef>

#include "lib/base/cpu.hpp"
#include "lib/core/wire/wire.hpp"

namespace lci::core {

class device;

// stream_order.cpp: at the target
bool receive_ordered(device& d, int peer, wire::message& m);
/// Receives a message whose header is_ordered_am(). `message` begins with the header. The network may reuse its memory
/// afterwards.
LCI_NOINLINE void receive_in_stream(device& d, int peer, const std::byte* message, size_t message_size);
bool receive_ordered_rts(device& d, int peer, wire::message& m);
// stream.cpp: at the sender
bool receive_credit(device& d, int peer, wire::message& m);

}  // namespace lci::core
