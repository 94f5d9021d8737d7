#include "network/shm/cma.hpp"

#include <sys/prctl.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
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

namespace {

constexpr size_t at_once = 128;  // pieces of a call

/// The order of remote addresses. In it, adjacent pieces become one range, whose pages the kernel looks up once.
bool is_before(const piece& a, const piece& b) { return a.remote_addr < b.remote_addr; }

void sort(piece* pieces, size_t n) {
  if (std::is_sorted(pieces, pieces + n, is_before)) return;
  if (is_before(pieces[n - 1], pieces[0])) std::reverse(pieces, pieces + n);
  if (!std::is_sorted(pieces, pieces + n, is_before)) std::sort(pieces, pieces + n, is_before);
}

/// Copies up to `at_once` pieces in their order. Returns an errno.
template <class Call>
int copy_some(Call call, int pid, const piece* pieces, size_t n) {
  std::array<iovec, at_once> mine, theirs;
  size_t sum = 0, n_theirs = 0;
  uint64_t end = 0;
  for (size_t i = 0; i < n; ++i) {
    const piece& p = pieces[i];
    mine[i] = {p.local, p.size};
    if (n_theirs > 0 && p.remote_addr == end)
      theirs[n_theirs - 1].iov_len += p.size;
    else
      theirs[n_theirs++] = {reinterpret_cast<void*>(p.remote_addr), p.size};
    end = p.remote_addr + p.size;
    sum += p.size;
  }
  const ssize_t moved = call(pid, mine.data(), n, theirs.data(), n_theirs, 0);
  if (moved < 0 && errno != EINTR) return errno;
  size_t done = moved < 0 ? 0 : static_cast<size_t>(moved);
  // Part of a call: the rest one by one, which also says why.
  for (size_t i = 0; done < sum && i < n; ++i) {
    const piece& p = pieces[i];
    if (done >= p.size) {
      done -= p.size;
      sum -= p.size;
      continue;
    }
    const int error = copy_all(call, pid, static_cast<char*>(p.local) + done, p.remote_addr + done, p.size - done);
    if (error != 0) return error;
    done = 0;
    sum -= p.size;
  }
  return 0;
}

}  // namespace

int copy_pieces(int pid, verb kind, const piece* pieces, size_t n) {
  const auto call = kind == verb::put ? process_vm_writev : process_vm_readv;
  std::array<piece, at_once> sorted;
  while (n > 0) {
    const size_t now = std::min(n, at_once);
    std::copy_n(pieces, now, sorted.data());
    sort(sorted.data(), now);
    if (const int error = copy_some(call, pid, sorted.data(), now); error != 0) return error;
    pieces += now;
    n -= now;
  }
  return 0;
}

}  // namespace lci::network::shm
