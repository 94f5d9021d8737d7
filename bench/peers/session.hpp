// The rounds of a benchmark on a peer.
#pragma once

#include <cstdint>

#include "bench/peers/options.hpp"

namespace peers {

/// Broadcast by rank 0 at the beginning of a round.
struct round {
  uint64_t count = 0;  ///< messages of each pair; 0: stop
  uint64_t size = 0;
  bool check = false;  ///< check that the right bytes arrive; not measured
};

/// The job of one or two processes. Used by each process's main thread.
class job {
 public:
  job(int rank_, int ranks_) : rank(rank_), ranks(ranks_) {}
  virtual ~job() = default;
  virtual void barrier() = 0;
  virtual void broadcast(round& r) = 0;  ///< from rank 0
  const int rank, ranks;
};

/// What the threads of this process do in a round. Thread 0 is the main thread.
class workload {
 public:
  virtual ~workload() = default;
  virtual int threads() const = 0;
  /// Called first, by the thread itself: binds it to its core.
  virtual void bind(int thread) = 0;
  /// Called before the clock starts: posts receives.
  virtual void prepare(int thread, const round& r) = 0;
  virtual void run(int thread, const round& r) = 0;
};

/// Runs rounds of each size until there are enough figures, which rank 0 prints.
void run(const program& who, const options& o, job& all, workload& what);

/// Returns whether there are more threads than cores.
bool is_crowded(const options& o);

/// Ends the process, and with it the job.
[[noreturn]] void die(const char* what, const char* why);

}  // namespace peers
