// Messages that a thread has left in backlogs before it waits outside of the library, as for other ranks in a fence.
#pragma once

#include "lib/base/cpu.hpp"

namespace lci::core {

class device;

/// Notes that this thread has queued something in the device's backlog.
LCI_COLD void note_queued(const device& d) noexcept;

/// Makes progress on the devices in whose backlogs this thread has queued something, and returns whether something
/// still waits there. Devices of other threads are left alone, since progress calls their handlers. Failures, and what
/// handlers throw, are left for the program's next progress().
bool send_queued() noexcept;

}  // namespace lci::core
