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
