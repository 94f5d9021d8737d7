#include "bench/peers/session.hpp"

#include <cstdio>
#include <cstdlib>
#include <thread>

#include "bench/lci_perf/binding.hpp"
#include "bench/lci_perf/clock.hpp"
#include "bench/lci_perf/report.hpp"
#include "bench/lci_perf/rounds.hpp"
#include "bench/lci_perf/team.hpp"
#include "bench/peers/report.hpp"

namespace peers {
namespace {

class session {
 public:
  session(const program& who, const options& o, job& all, workload& what)
      : who_(who), options_(o), all_(all), workload_(what), barrier_(what.threads(), is_crowded(o)) {}

  void run() {
    std::vector<std::thread> threads;
    for (int i = 1; i < workload_.threads(); ++i) threads.emplace_back([this, i] { work(i); });
    workload_.bind(0);
    if (all_.rank == 0) {
      lead();
    } else {
      while (one_round() >= 0) continue;
    }
    for (std::thread& t : threads) t.join();
  }

 private:
  void work(int thread) {
    workload_.bind(thread);
    for (;;) {
      barrier_.wait();
      if (round_.count == 0) return;
      workload_.prepare(thread, round_);
      barrier_.wait();
      barrier_.wait();
      workload_.run(thread, round_);
      barrier_.wait();
    }
  }

  /// The main thread's part. Returns seconds, or -1 after the last round.
  double one_round() {
    all_.broadcast(round_);
    barrier_.wait();
    if (round_.count == 0) return -1;
    workload_.prepare(0, round_);
    barrier_.wait();
    all_.barrier();
    barrier_.wait();
    const double start = lci_perf::now_seconds();
    workload_.run(0, round_);
    barrier_.wait();
    return lci_perf::now_seconds() - start;
  }

  void lead() {
    const options& o = options_;
    const bool stream = !is_one_sided(o.op) && o.metric != metric_kind::latency;
    const uint64_t step = stream ? static_cast<uint64_t>(o.window) : 1;
    // figure_of() halves round trips, but one-sided operations have no answer.
    const bool halves = is_one_sided(o.op) && o.op != op_kind::putsignal;
    for (const size_t size : o.sizes) {
      round_ = {static_cast<uint64_t>(o.window), size, true};
      one_round();
      uint64_t n = 0;
      std::vector<double> figures = lci_perf::measure(o, step, &n, [&](uint64_t count) {
        round_ = {count, size, false};
        return one_round();
      });
      double messages = static_cast<double>(n) * o.threads;
      if (o.metric == metric_kind::latency) messages = static_cast<double>(n) / (halves ? 2 : 1);
      for (double& t : figures) t = lci_perf::figure_of(o.metric, t, messages, size);
      report(who_, o, size, figures);
    }
    round_ = {};
    one_round();
  }

  const program& who_;
  const options& options_;
  job& all_;
  workload& workload_;
  lci_perf::spin_barrier barrier_;
  round round_;  // written by the main thread before the first barrier of a round
};

}  // namespace

void run(const program& who, const options& o, job& all, workload& what) { session(who, o, all, what).run(); }

bool is_crowded(const options& o) { return 2 * o.threads > lci_perf::core_count(); }

void die(const char* what, const char* why) {
  std::fprintf(stderr, "%s: %s\n", what, why);
  std::_Exit(1);
}

}  // namespace peers
