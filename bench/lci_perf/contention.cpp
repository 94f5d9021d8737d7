#include "bench/lci_perf/contention.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include "bench/lci_perf/binding.hpp"
#include "bench/lci_perf/clock.hpp"
#include "bench/lci_perf/report.hpp"
#include "bench/lci_perf/rounds.hpp"
#include "bench/lci_perf/team.hpp"

namespace lci_perf {

void run_contention(const options& o, contended_object& c) {
  core_count();  // reads the affinity mask before this thread is pinned
  const bool crowded = o.threads > core_count();
  spin_barrier barrier(o.threads, crowded);
  uint64_t count = 0;  // of the round; 0: stop. Written by this thread before the barrier.
  const auto round = [&](int t) {
    barrier.wait();
    if (count == 0) return false;
    c.work(t, count);
    barrier.wait();
    return true;
  };
  std::vector<std::thread> threads;
  for (int t = 1; t < o.threads; ++t) {
    threads.emplace_back([&, t] {
      run_or_die([&] {
        bind_thread(o.bind, 0, o.threads, t);
        while (round(t)) {
        }
      });
    });
  }
  bind_thread(o.bind, 0, o.threads, 0);
  std::vector<std::string> notes = {
      std::to_string(o.threads) + (o.threads == 1 ? " thread: " : " threads: ") + c.what(),
      describe_binding(o.bind, 1, o.threads)};
  if (crowded) notes.push_back("more threads than cores");
  reporter out(o, 1, notes);
  for (const size_t size : o.sizes) {
    uint64_t n = 0;
    c.begin(size);
    std::vector<double> times = measure(o, 1, &n, [&](uint64_t wanted) {
      count = wanted;
      const double start = now_seconds();
      run_or_die([&] { round(0); });
      const double seconds = now_seconds() - start;
      c.check(count);
      return seconds;
    });
    for (double& t : times) t = static_cast<double>(n) * o.threads / t;
    out.add({size, times, {}, {}});
  }
  count = 0;
  round(0);
  for (std::thread& t : threads) t.join();
}

}  // namespace lci_perf
