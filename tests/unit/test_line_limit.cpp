// The limit of lines on standard error: many at once, few in the long run.
#include <catch2/catch.hpp>

#include "lib/base/line_limit.hpp"

using lci::line_limit;
using std::chrono::steady_clock;

TEST_CASE("many lines are printed at once, then one for each interval, which says how many were left out",
          "[line_limit]") {
  line_limit limit;
  steady_clock::time_point now{std::chrono::hours(1)};
  for (int64_t i = 0; i < line_limit::at_once; ++i) REQUIRE(limit.next(now) == 0);
  for (int i = 0; i < 50; ++i) REQUIRE(limit.next(now) == -1);
  now += line_limit::interval;
  CHECK(limit.next(now) == 50);
  CHECK(limit.next(now) == -1);
  now += 3 * line_limit::interval;
  CHECK(limit.next(now) == 1);
  CHECK(limit.next(now) == 0);
  CHECK(limit.next(now) == 0);
  CHECK(limit.next(now) == -1);
}

TEST_CASE("after a quiet time as many lines as before are printed at once", "[line_limit]") {
  line_limit limit;
  steady_clock::time_point now{};
  while (limit.next(now) == 0) {
  }
  now += 2 * line_limit::at_once * line_limit::interval;
  CHECK(limit.next(now) == 1);
  for (int64_t i = 1; i < line_limit::at_once; ++i) REQUIRE(limit.next(now) == 0);
  CHECK(limit.next(now) == -1);
}
