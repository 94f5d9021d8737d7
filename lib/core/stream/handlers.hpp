// Handlers of the messages of streams. Each returns false if the message makes no sense: the device then rejects it.
#pragma once

#include "lib/core/wire/wire.hpp"

namespace lci::core {

class device;

// stream_order.cpp: at the target
bool receive_ordered(device& d, int peer, wire::message& m);
bool receive_ordered_rts(device& d, int peer, wire::message& m);
// stream.cpp: at the sender
bool receive_credit(device& d, int peer, wire::message& m);

}  // namespace lci::core
