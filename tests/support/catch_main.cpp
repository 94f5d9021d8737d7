// The main() of all Catch2 tests, compiled once. Adds to Catch2: skips, a watchdog, a closing line
// that tests/support/summary.py reads, and silence of all ranks but 0 under a launcher.
#define CATCH_CONFIG_RUNNER
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

  void testCaseStarting(const Catch::TestCaseInfo& info) override {
    state.test = info.name;
    state.skipped = false;
    time_limit(environment_int({"LCI_TEST_TIMEOUT"}, 60));
  }

  void testCaseEnded(const Catch::TestCaseStats& stats) override {
    if (state.dog) state.dog->rest();
    if (!stats.totals.assertions.allOk()) {
      ++state.failed;
    } else if (state.skipped) {
      ++state.skips;
      std::cout << "SKIPPED " << state.test << ": " << state.skip_reason << std::endl;
    } else {
      ++state.passed;
    }
  }
};
CATCH_REGISTER_LISTENER(listener)

}  // namespace

void skip(const std::string& reason) {
  state.skipped = true;
  state.skip_reason = reason;
}

void time_limit(int seconds) {
  if (state.dog) state.dog->watch(state.test, seconds * time_scale);
}

int process_rank() { return environment_int({"PMI_RANK", "PMIX_RANK"}, 0); }
int process_count() { return environment_int({"PMI_SIZE"}, 1); }

}  // namespace lci_test

int main(int argc, char** argv) {
  using lci_test::state;
  Catch::Session session;
  if (const int bad = session.applyCommandLine(argc, argv)) return bad;
  const bool speaks = lci_test::process_rank() == 0;
  if (!speaks) {
    session.configData().outputFilename = "/dev/null";
    std::cout.setstate(std::ios::badbit);
  }
  const auto& config = session.configData();
  const bool lists =
      config.listTests || config.listTags || config.listReporters || config.showHelp;
  if (!lists) state.dog = std::make_unique<lci_test::watchdog>();
  const int result = session.run();
  state.dog.reset();
  if (lists) return result;
  if (speaks) {
    std::printf("cases: %d passed, %d failed, %d skipped\n", state.passed, state.failed,
                state.skips);
    std::fflush(stdout);
    if (state.passed + state.failed + state.skips == 0) {
      std::fprintf(stderr, "no test case was run\n");
      return 1;
    }
  }
  return result != 0 || state.failed != 0 ? 1 : 0;
}
