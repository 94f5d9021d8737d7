// A message and its answer, each in its own cache line.
#include <atomic>
#include <cstdint>
#include <new>

#include "bench/lci_perf/binding.hpp"
#include "bench/lci_perf/clock.hpp"
#include "bench/lci_perf/floor.hpp"
#include "bench/lci_perf/report.hpp"
#include "bench/lci_perf/rounds.hpp"

namespace lci_perf {
namespace {

struct lines {
  alignas(128) std::atomic<uint64_t> request{0};
  alignas(128) std::atomic<uint64_t> answer{0};
};

void wait_for(const std::atomic<uint64_t>& word, uint64_t value) {
  // H1: pairs with the stores of the other process (H2)
  while (word.load(std::memory_order_acquire) != value) {
  }
}

}  // namespace

void floor_handoff(const options& o) {
  auto* shared = new (shared_memory(sizeof(lines))) lines;
  reporter out(o, 2,
               {"a message and its answer, each in its own cache line, between two processes; "
                "one way",
                describe_binding(o.bind, 2, 1)});
  run_pair(
      o,
      [&] {
        uint64_t sent = 0, n = 0;
        std::vector<double> times = measure(o, 1, &n, [&](uint64_t count) {
          const double start = now_seconds();
          for (uint64_t i = 0; i < count; ++i) {
            shared->request.store(++sent, std::memory_order_release);  // H2: pairs with H1
            wait_for(shared->answer, sent);
          }
          return now_seconds() - start;
        });
        for (double& t : times) t = figure_of(o.metric, t, static_cast<double>(n), 8);
        out.add({8, times, {}, {}});
      },
      [&] {
        for (uint64_t expected = 1;; ++expected) {
          wait_for(shared->request, expected);
          shared->answer.store(expected, std::memory_order_release);  // H2: pairs with H1
        }
      });
}

}  // namespace lci_perf
