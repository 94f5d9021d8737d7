// Rounds of a benchmark on a peer: who tells whom how much is next, and when the clock runs.
#pragma once

#include <cstdint>

#include "bench/peers/options.hpp"

namespace peers {

/// What rank 0 has everybody do next.
struct round {
  uint64_t count = 0;  ///< messages of each pair; 0: the end
  uint64_t size = 0;
  bool check = false;  ///< see that the right bytes arrive; nobody looks at the clock
};

/// The processes, one or two of them. Used by the main thread of each.
class job {
 public:
  job(int rank_, int ranks_) : rank(rank_), ranks(ranks_) {}
  virtual ~job() = default;
  virtual void barrier() = 0;
  virtual void broadcast(round& r) = 0;  ///< from rank 0
  const int rank, ranks;
};

/// What the threads of this process do in a round. Seat 0 is the main thread's.
class play {
 public:
  virtual ~play() = default;
  virtual int seats() const = 0;
  /// The thread of `seat` begins: binds it to its core.
  virtual void sit(int seat) = 0;
  /// Before the clock runs: receives are posted here.
  virtual void prepare(int seat, const round& r) = 0;
  virtual void perform(int seat, const round& r) = 0;
};

/// Runs rounds of each size until there are figures enough, which rank 0 prints.
void run(const program& who, const options& o, job& all, play& what);

/// Threads outnumber cores.
bool is_crowded(const options& o);

/// Ends the process, and with it the job.
[[noreturn]] void die(const char* what, const char* why);

}  // namespace peers
