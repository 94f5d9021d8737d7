// Operations without a receiver: puts, gets (also strided) and atomics on memory of another rank, and collectives.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "bench/lci_perf/handoff.hpp"
#include "bench/lci_perf/one_sided_actor.hpp"
#include "bench/lci_perf/team.hpp"

namespace lci_perf {

/// Broadcast by rank 0 at the beginning of a round.
struct round_order {
  uint64_t count = 0;  ///< operations of each thread; 0: stop
  uint64_t size = 0;
};

/// The number of ranks that post: the lower ranks. The others are targets only.
inline int posting_ranks(const options& o, int ranks) {
  const bool all = is_collective(o.op) || o.metric == metric_kind::bidirectional;
  return all ? ranks : std::max(1, ranks / 2);
}

/// Runs `lci_perf put|get|... METRIC`. Constructed and run by the main thread, once per process.
///
/// Rank 0 broadcasts each round to all ranks; a barrier begins it. An allreduce ends it and finds the longest time of
/// any rank; within it the target ranks make progress. With dedicated devices, each device has a thread for that at
/// every rank.
class one_sided {
 public:
  one_sided(const options& o, int ranks, int rank);
  ~one_sided();
  void run();

 private:
  void make_actors();
  void lead();
  void serve(int i);
  bool round(int i, round_order order);
  void meet(actor& a);
  void end_together(int i);
  bool has_device(int i) const { return i == 0 || options_.dedicated; }
  std::vector<std::string> notes() const;

  const options& options_;
  const int ranks_, rank_;
  const bool posts_;     // whether this rank posts
  const int n_threads_;  // at this rank
  const bool crowded_;
  const one_sided_kind kind_;
  std::vector<lci::device_t> own_devices_;
  std::vector<std::unique_ptr<actor>> actors_;
  std::unique_ptr<handoff> handoff_;
  spin_barrier barrier_;
  round_order order_;   // written by the first thread before a barrier
  double seconds_ = 0;  // duration of the last round at the slowest rank
};

}  // namespace lci_perf
