// Rounds of random traffic by four threads of each rank. Each case lasts LCI_TEST_STRESS_SECONDS (default: 2, or 4 with
// a sanitizer, and ten times as many with --long).
#include <chrono>
#include <cstdlib>
#include <iostream>

#include "tests/stress/traffic.hpp"

namespace {

double seconds_to_run() {
  const char* s = std::getenv("LCI_TEST_STRESS_SECONDS");
  if (s != nullptr) return std::atof(s);
  return (lci_test::time_scale > 1 ? 4.0 : 2.0) * lci_test::long_runs();
}

void run(int threads, bool shared) {
  lci_test::time_limit(60 + static_cast<int>(seconds_to_run()));
  conf::on_ranks([=](conf::rank_env& env) {
    const auto devices = env.devices(threads, shared);
    stress::traffic all(env, devices, 20240229);
    const auto begin = std::chrono::steady_clock::now();
    uint64_t rounds = 0;
    for (bool more = true; more; ++rounds) {
      env.parallel(threads, [&](int t) { all.round(t, devices[static_cast<size_t>(t)], rounds); });
      all.end_round();
      const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
      more = env.all_gather(int{passed.count() < seconds_to_run()})[0] != 0;
    }
    EXPECT(all.operations() > 0);
    if (env.rank == 0)
      std::cout << threads << " threads, " << (shared ? "shared device" : "a device each") << ": " << rounds
                << " rounds, " << all.operations() << " operations of rank 0\n";
  });
}

}  // namespace

TEST_CASE("operations of all kinds at once from four threads that share a device", "[stress]") { run(4, true); }

TEST_CASE("operations of all kinds at once from four threads with a device each", "[stress]") { run(4, false); }
