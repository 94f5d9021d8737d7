// What becomes of the library in a process that fork() has made.
#pragma once

namespace lci::core {

class device;

/// A child has the parent's memory, but none of its threads, and shares its connections: whatever it sent
/// would spoil the parent's. So each call is refused there, by a handler that runs in the child before fork()
/// returns, and which closes the ways past such checks of all devices that are listed here.
void list_for_forks(device& d);
void unlist_for_forks(device& d) noexcept;

}  // namespace lci::core
