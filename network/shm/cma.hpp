// Cross-memory attach (CMA): the kernel copies directly between the memory of two processes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "network/fabric.hpp"
#include "network/shm/segment.hpp"

namespace lci::network::shm {

/// Allows the other processes of the job to attach to this one if Yama restricts that to ancestors.
void permit_attach();

/// Returns whether `peer`'s memory can be read and written: tested with its probe word.
bool can_attach(const address& peer);
/// Returns whether the test is impossible because the process is exiting and has no memory any more.
bool is_without_memory(const address& peer);

/// Copy `size` bytes from the peer's memory, or to it. Return 0 or an errno: ESRCH if the process has ended, anything
/// else if the kernel refuses (EFAULT: not mapped; EPERM: this process may not).
int read_memory(int pid, void* to, uint64_t from, size_t size);
int write_memory(int pid, const void* from, uint64_t to, size_t size);
/// Copies many pieces by few system calls. Returns like read_memory().
int copy_pieces(int pid, verb kind, const piece* pieces, size_t n);

}  // namespace lci::network::shm
