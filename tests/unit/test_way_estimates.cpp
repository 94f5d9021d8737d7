// The choice between the ways of moving large messages, on simulated machines with known costs.
#include "lib/core/transfer/way_estimates.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <numeric>
#include <random>

using lci::core::n_ways;
using lci::core::way;
using lci::core::way_estimates;
using lci::core::way_set;

namespace {

constexpr std::array<way, n_ways> each_way{way::fragments, way::read, way::split};

/// A machine on which a message takes these times, with random noise on top.
struct machine {
  std::array<double, n_ways> ticks;  // for a KiB, by the way
  double noise = 0;                  // largest, as a share
  std::mt19937 random{1};

  double time(way w) {
    return ticks[static_cast<size_t>(w)] * (1 + noise * std::uniform_real_distribution<>(0, 1)(random));
  }
  double best() const { return *std::min_element(ticks.begin(), ticks.end()); }
};

struct result {
  double time = 0;
  std::array<int, n_ways> n{};  // messages by the way

  int by(way w) const { return n[static_cast<size_t>(w)]; }
};

result run(way_estimates& e, machine& m, way usual, int n_messages, way_set possible = way_set::all()) {
  result r;
  for (int i = 0; i < n_messages; ++i) {
    const way w = e.choose(usual, possible);
    const double t = m.time(w);
    e.took(w, static_cast<float>(t));
    r.time += t;
    ++r.n[static_cast<size_t>(w)];
  }
  return r;
}

}  // namespace

TEST_CASE("the first messages are transferred by the default method", "[unit][ways]") {
  for (const way usual : each_way) {
    way_estimates e;
    for (uint32_t i = 0; i < way_estimates::round; ++i) {
      CHECK(e.choose(usual) == usual);
      e.took(usual, 100);
    }
  }
}

TEST_CASE("the fastest way is chosen, whichever is the usual one", "[unit][ways]") {
  for (const way usual : each_way)
    for (const auto& ticks : {std::array{100.0, 160.0, 130.0},
                              {160.0, 100.0, 125.0},
                              {200.0, 137.0, 80.0},
                              {100.0, 1000.0, 400.0},
                              {1000.0, 100.0, 900.0}}) {
      way_estimates e;
      machine m{ticks, 0.2};
      (void)run(e, m, usual, 5000);
      const result r = run(e, m, usual, 10'000);
      CAPTURE(static_cast<int>(usual), ticks[0], ticks[1], ticks[2]);
      const auto fastest = static_cast<size_t>(std::min_element(ticks.begin(), ticks.end()) - ticks.begin());
      CHECK(r.n[fastest] > 9'500);
    }
}

// Estimates of trials are worth as much as those of the usual way: on machines where the usual way takes a seventh
// longer, it used to stay.
TEST_CASE("a way that is faster by less than a fifth is chosen, too", "[unit][ways]") {
  for (const way usual : each_way)
    for (const way faster : each_way) {
      if (faster == usual) continue;
      machine m{{100, 100, 100}, 0.02};
      m.ticks[static_cast<size_t>(faster)] = 87;
      way_estimates e;
      (void)run(e, m, usual, 5000);
      CAPTURE(static_cast<int>(usual), static_cast<int>(faster));
      CHECK(run(e, m, usual, 10'000).by(faster) > 8'500);
    }
}

TEST_CASE("a way that is not possible is not chosen", "[unit][ways]") {
  for (const way missing : each_way) {
    way_set possible;
    for (const way w : each_way)
      if (w != missing) possible.add(w);
    const way usual = missing == way::read ? way::split : way::read;
    machine m{{100, 100, 100}, 0.1};
    m.ticks[static_cast<size_t>(missing)] = 10;
    way_estimates e;
    const result before = run(e, m, usual, 1000);
    CHECK(before.by(missing) > 500);
    CHECK(run(e, m, usual, 10'000, possible).by(missing) == 0);
  }
}

TEST_CASE("trials of the slower ways cost about one percent of the time at most", "[unit][ways]") {
  for (const double slower : {1.05, 1.3, 2.0, 5.0, 50.0}) {
    way_estimates e;
    machine m{{100 * slower, 100, 100 * slower}};
    (void)run(e, m, way::read, int{way_estimates::round * (way_estimates::last_early + 1)});
    const result r = run(e, m, way::read, 600'000);
    CAPTURE(slower);
    CHECK(r.time / (600'000 * m.best()) < 1.015);
    CHECK(r.by(way::fragments) > 0);  // they are tried nevertheless
    CHECK(r.by(way::split) > 0);
  }
}

// A job may send a few hundred large messages in all: the trials at its start must not cost much either.
TEST_CASE("early trials of ways that are much slower end early", "[unit][ways]") {
  way_estimates e;
  machine m{{500, 100, 400}};
  const result r = run(e, m, way::read, 2000);
  CHECK(r.time / (2000 * m.best()) < 1.3);
  CHECK(r.by(way::fragments) + r.by(way::split) < 200);
}

TEST_CASE("the choice follows a machine on which another way becomes faster", "[unit][ways]") {
  way_estimates e;
  machine m{{100, 140, 180}, 0.1};
  (void)run(e, m, way::fragments, 5000);
  m.ticks[0] = 220;  // processes on distant cores
  (void)run(e, m, way::fragments, 1000);
  CHECK(run(e, m, way::fragments, 10'000).by(way::read) > 9'000);
  m.ticks[0] = 100;
  (void)run(e, m, way::fragments, 12'000);
  CHECK(run(e, m, way::fragments, 10'000).by(way::fragments) > 9'500);
}

TEST_CASE("slow first messages do not decide", "[unit][ways]") {
  way_estimates e;
  machine m{{100, 150, 180}};
  int n_fragments = 0;
  for (int i = 0; i < 20'000; ++i) {
    const way w = e.choose(way::fragments);
    e.took(w, static_cast<float>(i < 50 ? 6000 : m.time(w)));
    n_fragments += w == way::fragments;
  }
  CHECK(n_fragments > 15'000);
}

TEST_CASE("interruptions do not change the choice", "[unit][ways]") {
  way_estimates e;
  machine m{{100, 150, 180}};
  int n_fragments = 0;
  for (int i = 0; i < 20'000; ++i) {
    const way w = e.choose(way::fragments);
    e.took(w, static_cast<float>(i % 50 == 49 ? 100'000 : m.time(w)));
    n_fragments += w == way::fragments;
  }
  CHECK(n_fragments > 18'500);
}
