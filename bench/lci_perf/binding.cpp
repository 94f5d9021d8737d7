#include "bench/lci_perf/binding.hpp"

#include <sched.h>

#include <vector>

namespace lci_perf {
namespace {

// The launcher's affinity mask. Must be read before any thread is pinned.
const std::vector<int>& allowed_cores() {
  static const std::vector<int> cores = [] {
    std::vector<int> out;
    cpu_set_t set;
    CPU_ZERO(&set);
    if (sched_getaffinity(0, sizeof(set), &set) == 0) {
      for (int c = 0; c < CPU_SETSIZE; ++c) {
        if (CPU_ISSET(c, &set)) out.push_back(c);
      }
    }
    if (out.empty()) out.push_back(0);
    return out;
  }();
  return cores;
}

int core_of(bind_kind how, int rank, int threads_per_rank, int thread) {
  const auto& cores = allowed_cores();
  const int k = how == bind_kind::cross ? rank + thread : rank * threads_per_rank + thread;
  return cores[static_cast<size_t>(k) % cores.size()];
}

}  // namespace

int core_count() { return static_cast<int>(allowed_cores().size()); }

int bind_thread(bind_kind how, int rank, int threads_per_rank, int thread) {
  if (how == bind_kind::none) return -1;
  const int core = core_of(how, rank, threads_per_rank, thread);
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(core), &set);
  return sched_setaffinity(0, sizeof(set), &set) == 0 ? core : -1;
}

std::string describe_binding(bind_kind how, int ranks, int threads_per_rank) {
  if (how == bind_kind::none) return "threads not bound";
  std::string out;
  for (int r = 0; r < ranks; ++r) {
    out += r == 0 ? "rank " : "; rank ";
    out += std::to_string(r);
    out += " on core";
    for (int t = 0; t < threads_per_rank; ++t) {
      out += t == 0 ? ' ' : ',';
      out += std::to_string(core_of(how, r, threads_per_rank, t));
    }
  }
  return out;
}

void waiter::yield() { sched_yield(); }

}  // namespace lci_perf
