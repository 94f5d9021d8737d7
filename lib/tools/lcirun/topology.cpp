// lcirun_topology KIND N: prints for each of N ranks of this machine a line with the processors that it is bound to:
// numbers with commas, a space, and a description. Called by lcirun (see binding.hpp).
#include <hwloc.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace {

/// The processors of `set`, separated by commas.
std::string processors(hwloc_const_cpuset_t set) {
  std::string list;
  for (int cpu = hwloc_bitmap_first(set); cpu >= 0; cpu = hwloc_bitmap_next(set, cpu)) {
    list += (list.empty() ? "" : ",") + std::to_string(cpu);
  }
  return list;
}

struct place {
  std::string list, text;
};

std::vector<place> places(hwloc_topology_t topology, bool sockets) {
  // cgroups and taskset may forbid processors that the machine has.
  hwloc_cpuset_t allowed = hwloc_bitmap_alloc();
  hwloc_get_cpubind(topology, allowed, HWLOC_CPUBIND_PROCESS);
  std::vector<place> found;
  // Machines, above all virtual ones, may not report cores or sockets.
  const auto level = sockets ? HWLOC_OBJ_PACKAGE : HWLOC_OBJ_CORE;
  const int depth = hwloc_get_type_or_above_depth(topology, level);
  hwloc_cpuset_t usable = hwloc_bitmap_alloc();
  for (unsigned i = 0; i < hwloc_get_nbobjs_by_depth(topology, depth); ++i) {
    const hwloc_obj_t object = hwloc_get_obj_by_depth(topology, depth, i);
    hwloc_bitmap_and(usable, object->cpuset, allowed);
    if (hwloc_bitmap_iszero(usable) != 0) continue;
    const std::string list = processors(usable);
    const hwloc_obj_t socket = sockets ? object : hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, object);
    std::string text = sockets ? "" : "core " + std::to_string(object->logical_index);
    if (socket != nullptr) {
      text += (text.empty() ? "socket " : " of socket ") + std::to_string(socket->logical_index);
    }
    found.push_back({list, text});
  }
  hwloc_bitmap_free(usable);
  hwloc_bitmap_free(allowed);
  return found;
}

}  // namespace

int main(int argc, char** argv) {
  const int ranks = argc == 3 ? std::atoi(argv[2]) : 0;
  const bool sockets = argc == 3 && std::strcmp(argv[1], "socket") == 0;
  if (ranks < 1 || (!sockets && std::strcmp(argv[1], "core") != 0)) {
    std::fprintf(stderr, "Usage: lcirun_topology core|socket RANKS   (for lcirun --bind)\n");
    return 2;
  }
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0 || hwloc_topology_load(topology) != 0) {
    std::fprintf(stderr, "lcirun_topology: hwloc cannot tell what this machine is made of\n");
    return 1;
  }
  const std::vector<place> all = places(topology, sockets);
  hwloc_topology_destroy(topology);
  if (all.empty()) {
    std::fprintf(stderr, "lcirun_topology: no processor may be used\n");
    return 1;
  }
  for (int i = 0; i < ranks; ++i) {
    // Cores round-robin; sockets in blocks, so that neighbouring ranks share one.
    const size_t turn =
        sockets && size_t(ranks) > all.size() ? size_t(i) * all.size() / size_t(ranks) : size_t(i) % all.size();
    const place& mine = all[turn];
    const bool one = mine.list.find(',') == std::string::npos;
    std::printf("%s is bound to processor%s %s%s%s%s\n", mine.list.c_str(), one ? "" : "s", mine.list.c_str(),
                mine.text.empty() ? "" : " (", mine.text.c_str(), mine.text.empty() ? "" : ")");
  }
  return std::fflush(stdout) == 0 ? 0 : 1;
}
