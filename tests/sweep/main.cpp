// lcirun -n 2 sweep_scenarios NAME: each rank runs the scenario, while the calls that LCI_TEST_SWEEP names fail. The
// scenarios "start" and "end" are g_runtime_init() and g_runtime_fina(). Without arguments it lists all scenarios.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <lci.hpp>

#include "tests/support/testing.hpp"
#include "tests/sweep/scene.hpp"

namespace {

int number(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

void start(bool armed) {
  if (armed) sweep::arm(sweep::me);
  if (sweep::attempt("g_runtime_init", [] { lci::g_runtime_init(); })) return sweep::disarm();
  sweep::disarm();
  sweep::expect_no_objects();
  if (sweep::n_ranks > 1) _exit(sweep::reported_code);
  // A single rank can try again, unless it has lost its launcher.
  try {
    lci::g_runtime_init();
  } catch (const std::exception& e) {
    sweep::accept("g_runtime_init, again,", e);
    if (std::strstr(e.what(), "the launcher's session has failed before") != nullptr) _exit(sweep::reported_code);
    sweep::fail("the runtime does not start although the fault is over");
  }
}

void end(bool armed) {
  if (armed) sweep::arm(sweep::me);
  const bool good = sweep::attempt("g_runtime_fina", [] { lci::g_runtime_fina(); });
  sweep::disarm();
  if (!good) lci::g_runtime_fina();
}

/// Time-out for calls that do not return, which until() can't detect.
constexpr int longest = 4 * sweep::timeout_s;  // in seconds, times lci_test::time_scale
void end_hung(int) {
  constexpr char text[] = "SWEEP FAILED: HUNG: in a call of the library\n";
  (void)!::write(STDERR_FILENO, text, sizeof text - 1);
  _exit(1);
}

/// Calls f(); returns false if the peer has failed meanwhile.
template <class F>
bool goes_well(const char* what, F f) {
  try {
    f();
    return true;
  } catch (const sweep::peer_lost&) {
  } catch (const std::exception& e) {
    if (sweep::may_cost_peers()) sweep::accept(what, e);
    if (!sweep::is_loss(e) && !sweep::is_broken()) sweep::fail("an exception %s: %s", what, e.what());
  }
  return false;
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
  std::signal(SIGALRM, end_hung);
  alarm(static_cast<unsigned>(longest * lci_test::time_scale));
  start(at_start);
  if (number("LCI_TEST_SWEEP_MET", 0) != 0) sweep::expect_health();  // connects the ranks
  bool good = true;
  if (!at_start && !at_end) {
    const sweep::scenario play = sweep::find_scenario(scenario);
    if (play == nullptr) return std::fprintf(stderr, "sweep_scenarios: no scenario %s\n", scenario), 2;
    sweep::may_lose_peer = sweep::breaks_connections();
    good = goes_well("where nothing should fail", play);
  }
  sweep::disarm();
  good = good && goes_well("afterwards", sweep::expect_health);
  try {
    if (!good && !sweep::is_broken()) sweep::expect_loss();
    end(at_end);
    sweep::expect_no_objects();
  } catch (const std::exception& e) {
    sweep::fail("an exception at the end: %s", e.what());
  }
  if (sweep::injected() == 0) sweep::print_counts(sweep::me);
  return 0;
}
