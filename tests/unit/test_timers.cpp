// The deadlines of a device: they expire in order, and are removed when their operations end.
#include <algorithm>
#include <atomic>
#include <catch2/catch.hpp>
#include <cstdint>
#include <random>
#include <vector>

#include "lib/core/operation/ticket.hpp"
#include "lib/core/operation/timers.hpp"

using lci::core::ticket;
using lci::core::timers;

TEST_CASE("deadlines expire in order, and removed ones do not") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    std::atomic<int> attention{1};
    timers t(attention);
    CHECK(t.left() == timers::never);
    constexpr size_t n = 100;
    std::vector<ticket> who(n);
    std::vector<int64_t> when(n);
    const int64_t now = timers::now();
    int64_t first = timers::never;
    for (size_t i = 0; i < n; ++i) {
      when[i] = now - 1'000'000 + static_cast<int64_t>(random() % 1000);
      if (random() % 10 == 0) when[i] += 3'600'000'000'000;  // an hour later
      CHECK(t.add(&who[i], i, when[i]) == (when[i] < first));
      first = std::min(first, when[i]);
    }
    CHECK(attention.load() == 1 + static_cast<int>(n));
    std::vector<bool> out(n, false);
    for (int i = 0; i < 60; ++i) {
      const size_t k = random() % n;
      t.remove(&who[k]);  // some are removed twice
      out[k] = true;
    }
    std::vector<timers::entry> due;
    for (timers::entry each; t.take_due(now, each);) due.push_back(each);
    size_t expected = 0;
    for (size_t i = 0; i < n; ++i) expected += !out[i] && when[i] <= now;
    CHECK(due.size() == expected);
    for (size_t i = 0; i < due.size(); ++i) {
      CHECK(!out[due[i].serial]);
      CHECK(due[i].who == &who[due[i].serial]);
      CHECK(due[i].who->timer_at == ticket::no_timer);
      if (i > 0) CHECK(due[i - 1].when <= due[i].when);
    }
    CHECK(t.left() > 0);
    for (ticket& w : who) t.remove(&w);
    CHECK(attention.load() == 1);
    CHECK(t.left() == timers::never);
  }
}

TEST_CASE("a number of seconds is a time, unless it is negative or more than 30 years") {
  for (const double seconds : {-1.0, -0.5, 1e9, 1e300}) {
    CHECK_FALSE(timers::has_end(seconds));
    CHECK(timers::after(seconds) == timers::never);
  }
  const int64_t before = timers::now();
  const int64_t at = timers::after(0.5), now = timers::after(0);
  const int64_t since = timers::now();
  CHECK((at >= before + 500'000'000 && at <= since + 500'000'000));
  CHECK((now >= before && now <= since));
  CHECK(timers::seconds_until(now) == 0);
  CHECK(timers::seconds_until(timers::after(100)) > 50);
  CHECK(timers::after(0.999e9) != timers::never);
}
