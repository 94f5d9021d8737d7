// Which core a thread runs on.
#pragma once

#include <string>

#include "bench/lci_perf/options.hpp"

namespace lci_perf {

/// Cores this process may use.
int core_count();

/// Pins the calling thread. Returns the core's number, or -1 if nothing was pinned.
int bind_thread(bind_kind how, int rank, int threads_per_rank, int thread);

/// For the header of the output: "rank 0: core 0; rank 1: core 1" or why not.
std::string describe_binding(bind_kind how, int ranks, int threads_per_rank);

/// To be called in a loop that waits for another thread: gives the core away now and then if
/// threads outnumber cores, since what is waited for may have to run right here.
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
