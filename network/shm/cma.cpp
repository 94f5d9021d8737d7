#include "network/shm/cma.hpp"

#include <sys/prctl.h>
#include <sys/uio.h>

#include <cerrno>

namespace lci::network::shm {

void permit_attach() { prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0); }

bool can_attach(const address& peer) {
  uint64_t word = 0;
  return read_memory(peer.pid, &word, peer.probe, sizeof word) == 0 && word == segment_magic;
}

bool is_without_memory(const address& peer) {
  uint64_t word = 0;
  return read_memory(peer.pid, &word, peer.probe, sizeof word) == ESRCH;
}

namespace {

template <class Call>
int copy_all(Call call, int pid, void* local, uint64_t remote, size_t size) {
  auto* at = static_cast<char*>(local);
  while (size > 0) {
    iovec mine{at, size};
    iovec theirs{reinterpret_cast<void*>(remote), size};
    // A transfer may be partial, for example at 2 GiB.
    const ssize_t n = call(pid, &mine, 1, &theirs, 1, 0);
    if (n < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    if (n == 0) return EFAULT;
    at += n;
    remote += static_cast<uint64_t>(n);
    size -= static_cast<size_t>(n);
  }
  return 0;
}

}  // namespace

int read_memory(int pid, void* to, uint64_t from, size_t size) {
  return copy_all(process_vm_readv, pid, to, from, size);
}

int write_memory(int pid, const void* from, uint64_t to, size_t size) {
  return copy_all(process_vm_writev, pid, const_cast<void*>(from), to, size);
}

}  // namespace lci::network::shm
