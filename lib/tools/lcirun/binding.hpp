// Binds ranks to processors. A separate program (lcirun_topology) asks hwloc for the machine's topology, so that only
// jobs that bind pay for hwloc.
#pragma once

#include <string>
#include <vector>

#include "lib/tools/lcirun/launch_options.hpp"

namespace lci::launcher {

struct binding {
  std::vector<int> processors;  // empty: not bound
  std::string text;             // "processor 3 (core 1 of socket 0)"
};

/// Bindings for `ranks` ranks of this host. Throws std::runtime_error if they can't be determined.
std::vector<binding> choose_bindings(binding_t kind, int ranks);

/// The path of lcirun_topology; empty if it was not built or not installed.
std::string topology_program();
/// The value of --bind.
const char* name_of(binding_t kind);

/// Binds the calling thread. False, with errno, if the kernel refuses.
bool bind_to(const binding& where);

}  // namespace lci::launcher
