// Runs mixed jobs with successive seeds for a given time, and prints the seed that fails.
//
// LCI_TEST_SEED runs one seed only, LCI_TEST_SECONDS sets the time in seconds.
#pragma once

#include <catch2/catch.hpp>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

#include "tests/sim/mixed_job.hpp"
#include "tests/support/testing.hpp"

namespace sim_test {

inline void run_one(const mixed_options& options) {
  mixed_job job(options);
  const auto& errors = job.run();
  if (errors.empty()) return;
  std::string text = options.text();
  for (const auto& e : errors) text += "\n  " + e;
  text += "\n  again: LCI_TEST_SEED=" + std::to_string(options.seed);
  FAIL(text);
}

/// Runs jobs of `options_of(seed)` for the seeds 1, 2 and so on for `seconds`, but at least 20 of them: fewer with a
/// sanitizer, with which a job may take seconds. The time is multiplied by lci_test::long_runs().
template <class Options>
void run_seeds(int seconds, Options options_of) {
  if (const char* seed = std::getenv("LCI_TEST_SEED")) return run_one(options_of(std::strtoull(seed, nullptr, 10)));
  const char* box = std::getenv("LCI_TEST_SECONDS");
  seconds = box != nullptr ? std::atoi(box) : seconds * lci_test::long_runs();
  lci_test::time_limit(seconds + 60);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  constexpr uint64_t fewest = 20 / lci_test::time_scale;
  uint64_t seed = 1;
  for (; std::chrono::steady_clock::now() < end || seed <= fewest; ++seed) run_one(options_of(seed));
  std::cout << "seeds 1.." << seed - 1 << std::endl;
}

}  // namespace sim_test
