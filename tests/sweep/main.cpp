// lcirun -n 2 sweep_scenarios NAME [NAME...]: each rank plays the scenarios, while what LCI_TEST_SWEEP says fails.
// The scenarios "start" and "end" are those of the runtime itself. Without arguments: a list of all.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <lci.hpp>

#include "tests/sweep/scene.hpp"

namespace {

/// A rank that can't start says so and ends: its launcher ends the others. 3: with an error that it was told.
constexpr int told_code = 3;

int number(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

void start(bool armed) {
  if (armed) sweep::arm(sweep::me);
  if (sweep::attempt("g_runtime_init", [] { lci::g_runtime_init(); })) return sweep::disarm();
  sweep::disarm();
  sweep::expect_no_objects();
  if (sweep::n_ranks > 1) _exit(told_code);
  // Alone, it can try again, unless it has lost its launcher.
  try {
    lci::g_runtime_init();
  } catch (const std::exception& e) {
    sweep::accept("g_runtime_init, again,", e);
    if (std::strstr(e.what(), "the launcher's session has failed before") != nullptr) _exit(told_code);
    sweep::fail("the runtime does not start though the fault is over");
  }
}

void end(bool armed) {
  if (armed) sweep::arm(sweep::me);
  const bool good = sweep::attempt("g_runtime_fina", [] { lci::g_runtime_fina(); });
  sweep::disarm();
  if (!good) lci::g_runtime_fina();
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (argc < 2) return sweep::list_scenarios(), 0;
  sweep::read_plan();
  sweep::me = number("PMI_RANK", 0);
  sweep::n_ranks = number("PMI_SIZE", 1);
  if (sweep::n_ranks > 2) return std::fprintf(stderr, "sweep_scenarios: one rank or two\n"), 2;
  sweep::page = &sweep::shared_board();
  (void)sweep::content_of(0), (void)sweep::buffer_for(0);
  const char* scenario = argv[1];
  const bool at_start = std::strcmp(scenario, "start") == 0, at_end = std::strcmp(scenario, "end") == 0;
  start(at_start);
  if (number("LCI_TEST_SWEEP_MET", 0) != 0) sweep::expect_health();  // which makes the connections
  if (!at_start && !at_end) {
    const sweep::scenario play = sweep::find_scenario(scenario);
    if (play == nullptr) return std::fprintf(stderr, "sweep_scenarios: no scenario %s\n", scenario), 2;
    try {
      play();
    } catch (const std::exception& e) {
      sweep::fail("an exception where nothing should fail: %s", e.what());
    }
  }
  if (!sweep::attempt("afterwards, an operation", sweep::expect_health) && !sweep::is_broken())
    sweep::fail("afterwards an operation is refused");
  try {
    end(at_end);
    sweep::expect_no_objects();
  } catch (const std::exception& e) {
    sweep::fail("an exception afterwards: %s", e.what());
  }
  if (sweep::injected() == 0) sweep::print_counts(sweep::me);
  return 0;
}
