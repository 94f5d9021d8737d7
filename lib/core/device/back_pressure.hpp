// Waits of posting threads: for room in the backlog, and for the end of a pause.
#pragma once

#include "lib/base/cpu.hpp"

namespace lci::core {

class device;

// `deadline`: the seconds after which the post is to end (negative: no limit). The functions wait no longer than that,
// and subtract the time that they have waited.

/// Makes progress until the backlog holds at most attr.backlog_bytes for the peer. Not in handlers.
LCI_COLD void await_backlog(device& d, int peer, double& deadline);
/// Makes progress until the peer ends its pause of sends. Not in handlers.
LCI_COLD void await_end_of_pause(device& d, int peer, double& deadline);

}  // namespace lci::core
