// lcirun -n 2 sweep_ccs NAME: both ranks execute scenario NAME, while the allocations that LCI_TEST_SWEEP selects fail.
// The scenarios "start" and "end" are CCS_init() and CCS_finalize(). Without arguments the program lists all scenarios.
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/support/testing.hpp"
#include "tests/sweep/ccs_scene.hpp"

namespace sweep {

namespace {

struct named {
  const char* name;
  scenario play;
};
constexpr named all[] = {
#define NAMED(name) \
  { #name, name }
    NAMED(messages), NAMED(replies), NAMED(large),      NAMED(collectives),  NAMED(symmetric),
    NAMED(put),      NAMED(get),     NAMED(shared_put), NAMED(described),    NAMED(accumulate),
    NAMED(atomic),   NAMED(indexed), NAMED(busy),       NAMED(registration),
#undef NAMED
};

int number(const char* variable, int otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::atoi(text);
}

void start(bool armed) {
  if (armed) arm(me);
  const bool good = succeeds("CCS_init", CCS_init());
  disarm();
  if (good) return;
  std::fprintf(stderr, "rank %d: CCS_init returns CCS_NOMEM\n", me);
  std::fflush(nullptr);
  if (n_ranks > 1) _exit(reported_code);
  if (CCS_init() != CCS_SUCCESS) fail("CCS does not start although the fault is over");
}

void end(bool armed) {
  if (armed) arm(me);
  insist("CCS_finalize", CCS_finalize);
  disarm();
}

/// Time-out for calls that do not return, which until() can't detect.
constexpr int longest = 4 * timeout_s;  // in seconds, times lci_test::time_scale
void end_hung(int) {
  constexpr char text[] = "SWEEP FAILED: HUNG: in a call of CCS\n";
  (void)!::write(STDERR_FILENO, text, sizeof text - 1);
  _exit(1);
}

scenario find(const char* name) {
  for (const named& s : all)
    if (std::strcmp(s.name, name) == 0) return s.play;
  return nullptr;
}

}  // namespace

/// Executes all scenarios. A fault that was armed before may still be injected meanwhile.
void expect_health() {
  for (const named& s : all) s.play();
}

}  // namespace sweep

int main(int argc, char** argv) {
  using namespace sweep;
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (argc < 2) {
    std::printf("start\nend\n");
    for (const auto& s : all) std::printf("%s\n", s.name);
    return 0;
  }
  read_plan();
  me = number("PMI_RANK", 0);
  n_ranks = number("PMI_SIZE", 1);
  if (n_ranks > 2) return std::fprintf(stderr, "sweep_ccs: one rank or two\n"), 2;
  page = &shared_board();
  const char* name = argv[1];
  std::signal(SIGALRM, end_hung);
  alarm(static_cast<unsigned>(longest * lci_test::time_scale));
  start(std::strcmp(name, "start") == 0);
  const bool at_end = std::strcmp(name, "end") == 0;
  register_handlers();
  if (std::strcmp(name, "start") != 0 && !at_end) {
    const scenario play = find(name);
    if (play == nullptr) return std::fprintf(stderr, "sweep_ccs: no scenario %s\n", name), 2;
    play();
  }
  if (!at_end && injected() == 0) print_counts(me);
  if (!at_end) expect_health();
  end(at_end);
  if (at_end && injected() == 0) print_counts(me);
  return 0;
}
