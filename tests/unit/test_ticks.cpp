// The tick counter: ticks are converted to time at their real rate on any processor.
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>

#include "lib/base/ticks.hpp"

using lci::cpu_ticks;
using lci::ticks_in;
using namespace std::chrono_literals;
using clock_type = std::chrono::steady_clock;

TEST_CASE("the number of ticks for a duration is right") {
  // Each interval of one clock is within an interval of the other, however long the thread is interrupted.
  const auto outer_begin = clock_type::now();
  const uint64_t ticks_begin = cpu_ticks();
  const auto inner_begin = clock_type::now();
  while (clock_type::now() - inner_begin < 20ms) {
  }
  const auto inner = clock_type::now() - inner_begin;
  const uint64_t ticks = cpu_ticks() - ticks_begin;
  const auto outer = clock_type::now() - outer_begin;
  CHECK(static_cast<double>(ticks) > 0.9 * static_cast<double>(ticks_in(inner)));
  CHECK(static_cast<double>(ticks) < 1.1 * static_cast<double>(ticks_in(outer)));
}

TEST_CASE("ticks are proportional to durations, and at least 1") {
  CHECK(ticks_in(0ns) == 1);
  CHECK(ticks_in(1s) / 1000 >= ticks_in(999us));
  CHECK(ticks_in(1s) / 1000 <= ticks_in(1001us));
}
