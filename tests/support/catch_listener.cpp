// What all test programs add to Catch2: skips, a watchdog, and a line for each case and a final line, which
// tests/support/summary.py reads. Under a launcher only rank 0 prints.
#define CATCH_CONFIG_EXTERNAL_INTERFACES
#include <catch2/catch.hpp>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>

#include "tests/support/testing.hpp"
#include "tests/support/watchdog.hpp"

namespace lci_test {
namespace {

int environment_int(std::initializer_list<const char*> names, int otherwise) {
  for (const char* name : names)
    if (const char* value = std::getenv(name)) return std::atoi(value);
  return otherwise;
}

// State of the run. Main thread only: Catch2 calls listeners there, and so do test bodies.
struct run_state {
  std::unique_ptr<watchdog> dog;
  std::string test;
  std::string skip_reason;
  bool skipped = false;
  int passed = 0, failed = 0, skips = 0;
};
run_state state;

struct listener : Catch::TestEventListenerBase {
  using TestEventListenerBase::TestEventListenerBase;

  void testRunStarting(const Catch::TestRunInfo&) override { state.dog = std::make_unique<watchdog>(); }

  void testCaseStarting(const Catch::TestCaseInfo& info) override {
    state.test = info.name;
    state.skipped = false;
    time_limit(environment_int({"LCI_TEST_TIMEOUT"}, 60));
  }

  // Only rank 0 prints Catch2's report. The other ranks print their failures here.
  bool assertionEnded(const Catch::AssertionStats& stats) override {
    const Catch::AssertionResult& result = stats.assertionResult;
    if (process_rank() != 0 && !result.isOk())
      std::fprintf(stderr, "rank %d: %s:%zu: %s %s\n", process_rank(), result.getSourceInfo().file,
                   result.getSourceInfo().line, result.getExpandedExpression().c_str(),
                   result.hasMessage() ? result.getMessage().c_str() : "");
    return true;
  }

  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    if (state.dog) state.dog->rest();
    // Each line is flushed: the next case may end the process.
    if (!stats.totals.assertions.allOk()) {
      ++state.failed;
      std::cout << "FAILED " << state.test << std::endl;
    } else if (state.skipped) {
      ++state.skips;
      std::cout << "SKIPPED " << state.test << ": " << state.skip_reason << std::endl;
    } else {
      ++state.passed;
      std::cout << "PASSED " << state.test << std::endl;
    }
  }

  // Also called when a signal ends the process.
  void testRunEnded(const Catch::TestRunStats&) override {
    std::cout << "cases: " << state.passed << " passed, " << state.failed << " failed, " << state.skips << " skipped"
              << std::endl;
    if (state.passed + state.failed + state.skips != 0) return;
    std::fprintf(stderr, "no test case was run\n");
    std::_Exit(1);  // Catch2 would report success
  }
};
CATCH_REGISTER_LISTENER(listener)

// Runs before Catch2 captures the stream.
[[maybe_unused]] const bool silent = [] {
  if (process_rank() == 0) return false;
  std::cout.rdbuf(nullptr);
  return true;
}();

}  // namespace

void skip(const std::string& reason) {
  state.skipped = true;
  state.skip_reason = reason;
}

void time_limit(int seconds) {
  if (state.dog) state.dog->watch(state.test, seconds * time_scale * long_runs());
}

int long_runs() {
  const char* asked = std::getenv("LCI_TESTS_LONG");
  return asked != nullptr && *asked != '\0' && std::string(asked) != "0" ? 10 : 1;
}

int process_rank() { return environment_int({"PMI_RANK", "PMIX_RANK", "RANK"}, 0); }
int process_count() {
  return environment_int({"PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_STEP_NUM_TASKS", "WORLD_SIZE"}, 1);
}

}  // namespace lci_test
