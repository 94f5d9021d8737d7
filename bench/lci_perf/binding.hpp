// Binds threads to cores.
#pragma once

#include <string>

#include "bench/lci_perf/options.hpp"

namespace lci_perf {

/// The number of cores that this process may use. The first call of a function of this file reads the affinity mask: it
/// must be made before any thread is pinned. Thread-safe.
int core_count();

/// Pins the calling thread: `thread` is its number within the rank. Returns the core's number, or -1 if nothing was
/// pinned.
int bind_thread(bind_kind how, int rank, int threads_per_rank, int thread);

/// For the header of the output: "rank 0 on core 0; rank 1 on core 1", or that threads are not bound.
std::string describe_binding(bind_kind how, int ranks, int threads_per_rank);

/// For loops that wait for another thread: if there are more threads than cores (`crowded`), yields the core in every
/// 16th turn, since the other thread may need it. Thread-bound.
class waiter {
 public:
  explicit waiter(bool crowded) : crowded_(crowded) {}
  void idle() {
    if (crowded_ && ++spins_ % 16 == 0) yield();
  }

 private:
  static void yield();
  bool crowded_;
  unsigned spins_ = 0;
};

}  // namespace lci_perf
