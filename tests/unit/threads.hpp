// Helpers of multi-threaded tests: only the main thread may use assertions, so threads return results.
#pragma once

#include <time.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "tests/support/testing.hpp"

namespace lci_test {

/// Runs `body(i)` in n threads that begin together, and returns their results.
template <class F>
auto in_threads(int n, F body) {
  using result_t = decltype(body(0));
  std::vector<result_t> results(static_cast<size_t>(n));
  std::atomic<int> waiting{n};
  std::vector<std::thread> threads;
  for (int i = 0; i < n; ++i)
    threads.emplace_back([&, i] {
      waiting.fetch_sub(1);
      while (waiting.load() > 0) std::this_thread::yield();
      results[static_cast<size_t>(i)] = body(i);
    });
  for (auto& t : threads) t.join();
  return results;
}

/// Processor time of this thread so far, in seconds.
inline double thread_cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

inline void pause_ms(int ms) { std::this_thread::sleep_for(std::chrono::milliseconds(ms)); }

}  // namespace lci_test
