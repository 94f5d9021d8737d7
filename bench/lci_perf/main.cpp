// lci_perf: measures the cost of messages, with LCI and with plain code on the same machine.
#include <cstdio>
#include <exception>
#include <string>

#include "bench/lci_perf/floor.hpp"
#include "bench/lci_perf/one_sided.hpp"
#include "bench/lci_perf/resource.hpp"
#include "bench/lci_perf/session.hpp"

namespace lci_perf {
namespace {

/// Why this number of ranks can't run the benchmark; else empty.
std::string wrong_ranks(const options& o, int ranks) {
  const std::string words = std::string("lci_perf ") + name_of(o.op) + " " + name_of(o.metric);
  const std::string has = std::to_string(ranks) + (ranks == 1 ? " rank; " : " ranks; ");
  if (o.op == op_kind::resource) return ranks == 1 ? "" : has + "it is about threads of one: " + words;
  if (o.processes && (ranks == 1 || ranks % 2 != 0))
    return has + "pairs of processes need an even number: lcirun -n 4 " + words + " --processes";
  if (ranks > 2 && !o.processes && !is_collective(o.op))
    return has + "it runs on 2 (lcirun -n 2 " + words + ") or on 1, to itself; on more with --processes";
  if (ranks == 1 && o.metric == metric_kind::bidirectional && !notifies_target(o.op))
    return has + "both directions need 2: lcirun -n 2 " + words;
  return {};
}

int run_lci(const options& o) {
  lci::g_runtime_init();
  const int ranks = lci::get_rank_n(), rank = lci::get_rank_me();
  const std::string wrong = wrong_ranks(o, ranks);
  int code = 0;
  if (!wrong.empty()) {
    if (rank == 0) std::fprintf(stderr, "lci_perf: %s\n", wrong.c_str());
    lci::barrier();  // the launcher ends the job when a rank fails: print the reason first
    code = 2;
  } else if (o.op == op_kind::resource) {
    run_resource(o);
  } else if (notifies_target(o.op)) {
    session(o, ranks, rank).run();
  } else {
    one_sided(o, ranks, rank).run();
  }
  lci::g_runtime_fina();
  return code;
}

}  // namespace
}  // namespace lci_perf

int main(int argc, char** argv) {
  const lci_perf::options o = lci_perf::parse(argc, argv);
  try {
    return o.op == lci_perf::op_kind::floor ? lci_perf::run_floor(o) : lci_perf::run_lci(o);
  } catch (const std::exception& e) {
    std::fprintf(stderr, "lci_perf: %s\n", e.what());
    return 1;
  }
}
