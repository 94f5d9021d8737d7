// Which processors a rank may use. What the machine is made of, hwloc knows: it is asked by a
// program of its own (lcirun_topology), so that only jobs that bind pay for it.
#pragma once

#include <string>
#include <vector>

#include "lib/tools/lcirun/launch_options.hpp"

namespace lci::launcher {

struct binding {
  std::vector<int> processors;  // empty: as they come
  std::string text;             // "processor 3 (core 1 of socket 0)"
};

/// For so many ranks of this host. Throws std::runtime_error if it can't be done.
std::vector<binding> choose_bindings(binding_t kind, int ranks);

/// Where lcirun_topology is; empty: it was not built, or not installed.
std::string topology_program();
/// The value of --bind.
const char* name_of(binding_t kind);

/// Of the calling thread. False, with errno, if the kernel refuses.
bool bind_to(const binding& where);

}  // namespace lci::launcher
