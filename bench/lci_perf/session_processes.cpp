// Pairs of single-threaded processes: rank r of N is paired with rank r + N/2.
#include "bench/lci_perf/clock.hpp"
#include "bench/lci_perf/session_state.hpp"
#include "bench/lci_perf/together.hpp"

namespace lci_perf {

void session::run_processes() {
  bind_thread(options_.bind, rank_, 1, 0);
  if (rank_ == 0) return measure_sizes([this](command c) { return round_together(c); });
  while (!ended_) round_together({});
}

/// Collective; `c` is used at rank 0 only. A barrier begins the round. Returns the duration at the slowest pair.
double session::round_together(command c) {
  lci::broadcast(&c, sizeof(c), 0);
  ended_ = c.count == 0;
  if (ended_) return 0;
  const round_plan plan = plan_of(c);
  side& mine = sends_ ? state.senders[0] : state.receivers[0];
  const payload_kind payload = choose_delivery(mine, plan.size);
  if (!sends_) part(plan).prepare(mine, plan);
  lci::barrier();
  const double start = now_seconds();
  if (sends_) {
    part(plan).send(mine, plan, payload);
  } else {
    part(plan).receive(mine, plan, payload);
  }
  const double seconds = sends_ ? now_seconds() - start : 0;
  double longest = 0;
  lci::allreduce(&seconds, &longest, 1, sizeof(double), larger);
  return longest;
}

}  // namespace lci_perf
