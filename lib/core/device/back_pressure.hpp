// Waits of posting threads: for room in the backlog, for the device of a peer, and for the end of a pause.
#pragma once

#include "lib/base/cpu.hpp"

namespace lci::core {

class device;

/// Makes progress until the backlog holds at most attr.backlog_bytes for the peer. Not in handlers.
LCI_COLD void await_backlog(device& d, int peer);
/// If the peer has not made its device yet, makes progress until it has, at most a second, and returns whether it has.
/// Returns false at once if messages wait already, and in handlers.
LCI_COLD bool await_device_of(device& d, int peer);
/// Makes progress until the peer ends its pause of sends. Not in handlers.
LCI_COLD void await_end_of_pause(device& d, int peer);

}  // namespace lci::core
