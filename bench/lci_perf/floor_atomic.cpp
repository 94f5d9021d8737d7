// An uncontended atomic addition: the baseline of a remote one.
#include <atomic>
#include <cstdint>
#include <new>

#include "bench/lci_perf/binding.hpp"
#include "bench/lci_perf/clock.hpp"
#include "bench/lci_perf/floor.hpp"
#include "bench/lci_perf/report.hpp"
#include "bench/lci_perf/rounds.hpp"

namespace lci_perf {

void floor_atomic(const options& o) {
  bind_thread(o.bind, 0, 1, 0);
  auto* word = new (shared_memory(64)) std::atomic<uint64_t>{0};
  reporter out(o, 1,
               {"64-bit fetch-and-add on a word in the cache, one after the other", describe_binding(o.bind, 1, 1)});
  uint64_t n = 0;
  std::vector<double> times = measure(o, 1, &n, [&](uint64_t count) {
    const double start = now_seconds();
    for (uint64_t i = 0; i < count; ++i) {
      uint64_t before = word->fetch_add(1, std::memory_order_seq_cst);
      asm volatile("" : : "r"(before) : "memory");  // the remote one returns its result too
    }
    return now_seconds() - start;
  });
  for (double& t : times) t = t * 1e9 / static_cast<double>(n);
  out.add({8, times, {}, {}});
}

}  // namespace lci_perf
