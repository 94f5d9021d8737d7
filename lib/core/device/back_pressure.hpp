// Waits of posting threads: for room in the backlog, and for the end of a pause.
#pragma once

#include "lib/base/cpu.hpp"

namespace lci::core {

class device;

// `deadline` is that of the post, in seconds (negative: none), and becomes what is left of it. The wait ends then.

/// Makes progress until the backlog holds at most attr.backlog_bytes for the peer. Not in handlers.
LCI_COLD void await_backlog(device& d, int peer, double& deadline);
/// Makes progress until the peer ends its pause of sends. Not in handlers.
LCI_COLD void await_end_of_pause(device& d, int peer, double& deadline);

}  // namespace lci::core
