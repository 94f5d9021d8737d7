// The choice between two ways of moving large messages, on simulated machines with known costs.
#include "lib/core/transfer/way_estimates.hpp"

#include <catch2/catch.hpp>

#include <random>

using lci::core::way;
using lci::core::way_estimates;

namespace {

/// A machine on which a message takes these times, with random noise on top.
struct machine {
  double fragments, remote_access;  // ticks for a KiB
  double noise = 0;                 // largest, as a share
  std::mt19937 random{1};

  double time(way w) {
    const double exact = w == way::fragments ? fragments : remote_access;
    return exact * (1 + noise * std::uniform_real_distribution<>(0, 1)(random));
  }
  double best() const { return std::min(fragments, remote_access); }
};

struct result {
  double time = 0;
  int n_fragments = 0;
};

result run(way_estimates& e, machine& m, way usual, int n_messages) {
  result r;
  for (int i = 0; i < n_messages; ++i) {
    const way w = e.choose(usual);
    const double t = m.time(w);
    e.took(w, static_cast<float>(t));
    r.time += t;
    r.n_fragments += w == way::fragments;
  }
  return r;
}

}  // namespace

TEST_CASE("the first messages are transferred by the default method", "[unit][ways]") {
  for (const way usual : {way::fragments, way::remote_access}) {
    way_estimates e;
    for (uint32_t i = 0; i < way_estimates::round; ++i) {
      CHECK(e.choose(usual) == usual);
      e.took(usual, 100);
    }
  }
}

TEST_CASE("the faster way is chosen, whichever is the usual one", "[unit][ways]") {
  for (const way usual : {way::fragments, way::remote_access})
    for (const auto& [fragments, remote_access] : {std::pair(100.0, 160.0), {160.0, 100.0}, {100.0, 1000.0}}) {
      way_estimates e;
      machine m{fragments, remote_access, 0.2};
      (void)run(e, m, usual, 5000);
      const result r = run(e, m, usual, 10'000);
      CAPTURE(static_cast<int>(usual), fragments, remote_access);
      CHECK((fragments < remote_access ? r.n_fragments : 10'000 - r.n_fragments) > 9'500);
    }
}

TEST_CASE("trials of the slower way cost about one percent of the time at most", "[unit][ways]") {
  for (const double slower : {1.05, 1.3, 2.0, 5.0, 50.0}) {
    way_estimates e;
    machine m{100, 100 * slower};
    (void)run(e, m, way::fragments, int{way_estimates::round * (way_estimates::last_early + 1)});
    const result r = run(e, m, way::fragments, 600'000);
    CAPTURE(slower);
    CHECK(r.time / (600'000 * m.best()) < 1.015);
    CHECK(r.n_fragments < 600'000);  // it is tried nevertheless
  }
}

TEST_CASE("the choice follows a machine on which the other way becomes faster", "[unit][ways]") {
  way_estimates e;
  machine m{100, 140, 0.1};
  (void)run(e, m, way::fragments, 5000);
  m.fragments = 200;  // processes on distant cores
  (void)run(e, m, way::fragments, 1000);
  CHECK(run(e, m, way::fragments, 10'000).n_fragments < 500);
  m.fragments = 100;
  (void)run(e, m, way::fragments, 12'000);
  CHECK(run(e, m, way::fragments, 10'000).n_fragments > 9'500);
}

TEST_CASE("slow first messages do not decide", "[unit][ways]") {
  way_estimates e;
  machine m{100, 150};
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
  machine m{100, 150};
  int n_fragments = 0;
  for (int i = 0; i < 20'000; ++i) {
    const way w = e.choose(way::fragments);
    e.took(w, static_cast<float>(i % 50 == 49 ? 100'000 : m.time(w)));
    n_fragments += w == way::fragments;
  }
  CHECK(n_fragments > 19'000);
}
