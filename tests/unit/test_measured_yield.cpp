// lib/concurrent/measured_yield.hpp, and network/common/crowd_watch.hpp, which uses it
#include <sched.h>
#include <sys/resource.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <thread>

#include "lib/concurrent/measured_yield.hpp"
#include "network/common/crowd_watch.hpp"

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

/// Runs f() on a processor where another thread computes. Returns false if threads can't be bound to a processor.
template <class F>
bool beside_a_thread_that_computes(F f) {
  std::atomic<bool> stops{false}, bound{true};
  std::thread computes([&] {
    if (!stay_on_one_processor()) bound = false;
    while (!stops.load(std::memory_order_relaxed)) {
    }
  });
  std::thread waits([&] {
    if (!stay_on_one_processor()) bound = false;
    f();
  });
  waits.join();
  stops = true;
  computes.join();
  return bound;
}

double seconds_since(yield_clock::time_point begin) {
  return std::chrono::duration<double>(yield_clock::now() - begin).count();
}

}  // namespace

TEST_CASE("measured yield: beside a thread that computes, yields are dear, and left out") {
  constexpr double long_yield = 0.001;  // seconds, as in the class
  int left_out = 0;
  double long_ones = 0;  // seconds in all
  REQUIRE(beside_a_thread_that_computes([&] {
    for (const auto start = yield_clock::now(); seconds_since(start) < 1;) {
      if (lci::measured_yield::is_dear()) {
        ++left_out;
        continue;
      }
      const auto begin = yield_clock::now();
      lci::measured_yield::yield();
      if (const double took = seconds_since(begin); took > long_yield) long_ones += took;
    }
  }));
  // How long time slices are depends on the system.
  if (long_ones > 0) CHECK(left_out > 0);
  CHECK(long_ones < 0.5);  // of a second; by sched_yield() alone it is nearly all of it
}

TEST_CASE("measured yield: in a pause there is none") {
  double took = 0;
  REQUIRE(beside_a_thread_that_computes([&] {
    const lci::measured_yield::pause pause(true);
    const auto begin = yield_clock::now();
    for (int i = 0; i < 200; ++i) lci::measured_yield::yield();
    took = seconds_since(begin);
  }));
  CHECK(took < 0.1);  // with the yields, 200 time slices
}

namespace {

/// How often another thread has taken the calling thread's processor, yields included.
long times_preempted() {
  rusage used;
  getrusage(RUSAGE_THREAD, &used);
  return used.ru_nivcsw;
}

}  // namespace

TEST_CASE("crowd watch: a thread whose last polls had results does not yield") {
  using watch = lci::network::crowd_watch<4096, 16384>;
  bool crowded = false;
  long between_results = 0, without = 0;
  // The system lets a thread that yields run on while it has had less than its share of the processor.
  constexpr int most_looks = 20000;  // without yields they take less than a time slice
  REQUIRE(beside_a_thread_that_computes([&] {
    watch w;
    for (const auto start = yield_clock::now(); !crowded && seconds_since(start) < 10;) {
      w.look(16384, 1);
      crowded = w.is_due(watch::crowded);
    }
    // These calls take less than a time slice, so the system does not preempt the thread meanwhile.
    const long before = times_preempted();
    for (int i = 0; i < 100; ++i) w.look(watch::crowded, watch::crowded - 1);
    between_results = times_preempted() - before;
    for (int i = 0; i < most_looks && without < 5; ++i) {
      w.look(watch::crowded, watch::crowded);
      if (i % 100 == 0) without = times_preempted() - before - between_results;
    }
  }));
  REQUIRE(crowded);
  CHECK(between_results <= 1);
  CHECK(without >= 5);
}
