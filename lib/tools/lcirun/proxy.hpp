// lcirun on another host: runs the ranks there for the lcirun that the user started.
#pragma once

#include "lib/tools/lcirun/spawn.hpp"

namespace lci::launcher {

/// Reads its setup from standard input. Returns the exit code for ssh, with no descendant left. `guard` is the socket
/// to the guard.
int run_proxy(const original_state& original, int guard);

}  // namespace lci::launcher
