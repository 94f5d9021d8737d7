// Cross-memory attach: the kernel copies between two processes' memory, once.
#pragma once

#include <cstddef>
#include <cstdint>

#include "network/shm/segment.hpp"

namespace lci::network::shm {

/// Lets the other processes of the job attach to this one where Yama restricts that to ancestors.
void permit_attach();

/// Whether `peer`'s memory can be read and written: tried on its probe word.
bool can_attach(const address& peer);
/// Whether it can't be tried, since that process is ending: it has no memory any more.
bool is_without_memory(const address& peer);

/// Copies `size` bytes from the peer's memory, or to it. 0, or an errno: ESRCH if the process has
/// ended, anything else if the kernel refuses (EFAULT: no such memory; EPERM: not of this process).
int read_memory(int pid, void* to, uint64_t from, size_t size);
int write_memory(int pid, const void* from, uint64_t to, size_t size);

}  // namespace lci::network::shm
