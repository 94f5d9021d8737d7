// The list of the process's devices, and with it the refusal of calls in forked children.
#pragma once

#include <cstdint>

namespace lci::core {

class device;

/// A child has the parent's memory, but none of its threads, and shares its connections: messages of the child would
/// corrupt those of the parent. So the child refuses every call: a handler that runs in the child before fork()
/// returns sets the bit that call checks read, and closes the direct paths, which skip these checks, of all
/// devices listed here.
void list_for_forks(device& d);
/// Makes a child that is forked while another thread allocates the process's first runtime refuse calls, too: it would
/// wait for locks of that thread, which it does not have. Called before a runtime is allocated, without these locks.
void watch_for_forks();
void unlist_for_forks(device& d) noexcept;
/// Called in a child that calls restart_after_fork(): removes all devices from the list, since they are the parent's.
void forget_listed_devices() noexcept;

/// Of the listed devices with a backlog that is not empty, and a serial number greater than `after`, the one with the
/// smallest; null if there is none. Increments its `visitors`: it is not freed before the caller has decremented them.
device* enter_next_device(uint64_t after) noexcept;

}  // namespace lci::core
