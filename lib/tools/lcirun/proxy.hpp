// lcirun on another host: runs the ranks there for the lcirun that the user has started.
#pragma once

#include "lib/tools/lcirun/spawn.hpp"

namespace lci::launcher {

/// Reads what to do from standard input; returns the exit code for ssh, with no process left below
/// this one. `guard` is the socket to the guard.
int run_proxy(const original_state& original, int guard);

}  // namespace lci::launcher
