// Handlers of the messages of transfers and acknowledgements. Each returns false if the message makes no sense: the
// device then rejects it.
#pragma once

#include "lib/base/cpu.hpp"
#include "lib/core/wire/wire.hpp"

namespace lci::core {

class device;

// rendezvous.cpp
bool receive_rts(device& d, int peer, wire::message& m);
bool receive_rtr(device& d, int peer, wire::message& m);
bool receive_fin(device& d, int peer, wire::message& m);
// fragments.cpp
bool receive_fragment(device& d, int peer, wire::message& m);
// rma.cpp
bool receive_put(device& d, int peer, wire::message& m);
bool receive_get(device& d, int peer, wire::message& m);
// acknowledgements.cpp
LCI_NOINLINE bool receive_acked(device& d, int peer, wire::message& m);
bool receive_ack(device& d, int peer, wire::message& m);
// atomics.cpp
bool receive_atomic(device& d, int peer, wire::message& m);
bool receive_atomic_reply(device& d, int peer, wire::message& m);
// withdrawal.cpp
LCI_COLD bool receive_withdrawal(device& d, int peer, wire::message& m);
/// A FIN that answers a withdrawal: the RTS had been matched, or had not arrived. `word`: of the RTS.
LCI_COLD bool receive_not_found(device& d, int peer, uint64_t word);

}  // namespace lci::core
