#include "network/shm/cma.hpp"

#include <sys/prctl.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <new>

#include "lib/base/copy_bytes.hpp"
#include "lib/base/cpu.hpp"

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

/// For copies that the kernel would make slowly (copy_distance): the kernel copies between the remote memory and a
/// buffer whose address is equal to the remote one modulo the page size, and `f` between the buffer and local memory.
/// Calls f(buffer, offset, bytes) for all parts, in order, until it returns an error. ENOMEM if there is no buffer.
template <class F>
int copy_through_buffer(uint64_t remote, size_t size, F f) {
  constexpr size_t part_end = size_t{32} << 10;  // bytes: fits in the first cache
  constexpr size_t page = copy_distance::page;
  const size_t part = std::min(part_end, size);
  const std::unique_ptr<std::byte[]> memory(new (std::nothrow) std::byte[part + page]);
  if (memory == nullptr) return ENOMEM;
  std::byte* const buffer = memory.get() + (remote - reinterpret_cast<uintptr_t>(memory.get())) % page;
  for (size_t at = 0; at < size; at += part)
    if (const int error = f(buffer, at, std::min(part, size - at)); error != 0) return error;
  return 0;
}

}  // namespace

int read_memory(int pid, void* to, uint64_t from, size_t size) {
  if (LCI_UNLIKELY(copy_distance::is_slow(to, reinterpret_cast<void*>(from), size))) {
    const int error = copy_through_buffer(from, size, [&](std::byte* buffer, size_t at, size_t n) {
      const int failed = copy_all(process_vm_readv, pid, buffer, from + at, n);
      if (failed == 0) copy_bytes(static_cast<std::byte*>(to) + at, buffer, n);
      return failed;
    });
    if (error != ENOMEM) return error;
  }
  return copy_all(process_vm_readv, pid, to, from, size);
}

int write_memory(int pid, const void* from, uint64_t to, size_t size) {
  if (LCI_UNLIKELY(copy_distance::is_slow(reinterpret_cast<void*>(to), from, size))) {
    const int error = copy_through_buffer(to, size, [&](std::byte* buffer, size_t at, size_t n) {
      copy_bytes(buffer, static_cast<const std::byte*>(from) + at, n);
      return copy_all(process_vm_writev, pid, buffer, to + at, n);
    });
    if (error != ENOMEM) return error;
  }
  return copy_all(process_vm_writev, pid, const_cast<void*>(from), to, size);
}

}  // namespace lci::network::shm
