// How much address space this process may give to shared memory.
#pragma once

#include <cstddef>

namespace lci::network::shm {

/// A process maps the segment and the heap of each rank of its host. Returns the largest size of one of these, in
/// bytes, at most `wanted`, with which all of them leave the program half of the address space that `ulimit -v` allows,
/// and which `ulimit -f` allows for a file.
size_t within_limits(size_t wanted, int ranks_of_host);

/// Returns the size of the largest file that the process may make; SIZE_MAX if it has no limit. The system would send
/// it SIGXFSZ for a larger one.
size_t largest_file();

}  // namespace lci::network::shm
