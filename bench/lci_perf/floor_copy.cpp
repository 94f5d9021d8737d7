// Copies of a message: by memcpy within a process, and by the kernel from another process.
#include <errno.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "bench/lci_perf/binding.hpp"
#include "bench/lci_perf/clock.hpp"
#include "bench/lci_perf/floor.hpp"
#include "bench/lci_perf/page_buffer.hpp"
#include "bench/lci_perf/report.hpp"
#include "bench/lci_perf/rounds.hpp"

namespace lci_perf {
namespace {

size_t largest(const options& o) {
  size_t out = 0;
  for (const size_t s : o.sizes) out = s > out ? s : out;
  return out;
}

// Through this, the second process publishes the memory that may be read.
struct offer {
  std::atomic<char*> address{nullptr};
  std::atomic<pid_t> pid{0};
};

void copy_from(pid_t pid, char* to, char* from, size_t size) {
  while (size > 0) {
    iovec local = {to, size}, remote = {from, size};
    const ssize_t got = process_vm_readv(pid, &local, 1, &remote, 1, 0);
    if (got <= 0) {
      std::fprintf(stderr,
                   "lci_perf: process_vm_readv of %zu bytes: %s (cross-memory attach may be "
                   "forbidden here: see /proc/sys/kernel/yama/ptrace_scope)\n",
                   size, std::strerror(got == 0 ? EIO : errno));
      std::exit(1);
    }
    to += got, from += got, size -= static_cast<size_t>(got);
  }
}

template <class Copy>
void run_sizes(const options& o, reporter& out, Copy copy) {
  for (const size_t size : o.sizes) {
    uint64_t n = 0;
    std::vector<double> times = measure(o, 1, &n, [&](uint64_t count) {
      const double start = now_seconds();
      for (uint64_t i = 0; i < count; ++i) copy(size);
      return now_seconds() - start;
    });
    for (double& t : times) t = figure_of(o.metric, t, static_cast<double>(n), size);
    out.add({size, times, {}, {}});
  }
}

}  // namespace

void floor_cma(const options& o) {
  const size_t bytes = largest(o);
  auto* shared = new (shared_memory(sizeof(offer))) offer;
  const page_buffer to = make_page_buffer(bytes, 1);
  reporter out(o, 2, {"process_vm_readv from another process, one buffer each", describe_binding(o.bind, 2, 1)});
  run_pair(
      o,
      [&] {
        char* from = nullptr;
        // C1: pairs with C2
        while ((from = shared->address.load(std::memory_order_acquire)) == nullptr) {
        }
        const pid_t pid = shared->pid.load(std::memory_order_relaxed);
        run_sizes(o, out, [&](size_t size) { copy_from(pid, to.get(), from, size); });
      },
      [&] {
        char* from = make_page_buffer(bytes, 2).release();  // until the process is killed
        shared->pid.store(getpid(), std::memory_order_relaxed);
        shared->address.store(from, std::memory_order_release);  // C2: pairs with C1
      });
}

void floor_memcpy(const options& o) {
  const size_t bytes = largest(o);
  bind_thread(o.bind, 0, 1, 0);
  const page_buffer from = make_page_buffer(bytes, 1);
  const page_buffer to = make_page_buffer(bytes, 2);
  reporter out(
      o, 1,
      {"memcpy within a process, one buffer each (small ones stay in the cache)", describe_binding(o.bind, 1, 1)});
  run_sizes(o, out, [&](size_t size) {
    std::memcpy(to.get(), from.get(), size);
    asm volatile("" : : "r"(to.get()) : "memory");  // keeps the compiler from removing the copy
  });
}

void floor_strided(const options& o) {
  bind_thread(o.bind, 0, 1, 0);
  constexpr size_t pitch = matrix_rows * sizeof(double), row = block_rows * sizeof(double);
  const page_buffer from = make_page_buffer(matrix_rows * pitch, 1);
  auto* to = static_cast<char*>(shared_memory(matrix_rows * pitch));
  reporter out(o, 1,
               {"512 x 512 doubles out of and into 1024 x 1024, a memcpy a row, into memory "
                "shared as the other rank's would be",
                describe_binding(o.bind, 1, 1)});
  run_sizes(o, out, [&](size_t) {
    for (size_t i = 0; i < block_rows; ++i) std::memcpy(to + i * pitch, from.get() + i * pitch, row);
    asm volatile("" : : "r"(to) : "memory");
  });
}

}  // namespace lci_perf
