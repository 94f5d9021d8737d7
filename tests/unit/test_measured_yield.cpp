// lib/concurrent/measured_yield.hpp
#include <sched.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "lib/concurrent/measured_yield.hpp"

namespace {

using yield_clock = std::chrono::steady_clock;

/// Binds the calling thread to one of its processors, always the same.
bool stay_on_one_processor() {
  cpu_set_t mine, one;
  if (sched_getaffinity(0, sizeof mine, &mine) != 0) return false;
  CPU_ZERO(&one);
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(i, &mine)) {
      CPU_SET(i, &one);
      return sched_setaffinity(0, sizeof one, &one) == 0;
    }
  return false;
}

}  // namespace

TEST_CASE("measured yield: beside a thread that computes, yields are dear, and left out") {
  std::atomic<bool> stops{false}, bound{true};
  std::thread computes([&] {
    if (!stay_on_one_processor()) bound = false;
    while (!stops.load(std::memory_order_relaxed)) {
    }
  });
  int made = 0, left_out = 0;
  double inside = 0;
  std::thread waits([&] {
    if (!stay_on_one_processor()) bound = false;
    for (const auto end = yield_clock::now() + std::chrono::seconds(1); yield_clock::now() < end;) {
      if (lci::measured_yield::is_dear()) {
        ++left_out;
        continue;
      }
      const auto begin = yield_clock::now();
      lci::measured_yield::yield();
      ++made;
      inside += std::chrono::duration<double>(yield_clock::now() - begin).count();
    }
  });
  waits.join();
  stops = true;
  computes.join();
  REQUIRE(bound);
  CHECK(made > 0);
  CHECK(left_out > 10 * made);
  CHECK(inside < 0.5);  // of a second; by sched_yield() alone it is nearly all of it
}

TEST_CASE("measured yield: alone on a processor, yields are not dear; in a pause there are none") {
  std::thread([] {
    for (int i = 0; i < 1000; ++i) lci::measured_yield::yield();
    int dear = 0;
    for (int i = 0; i < 1000; ++i) {
      const lci::measured_yield::pause pause(true);
      const auto begin = yield_clock::now();
      lci::measured_yield::yield();
      dear += yield_clock::now() - begin > std::chrono::milliseconds(1);
    }
    CHECK(dear < 10);
  }).join();
}
