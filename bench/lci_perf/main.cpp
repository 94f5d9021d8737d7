// lci_perf: what a message costs, on LCI and on this machine without LCI.
#include <cstdio>
#include <exception>

#include "bench/lci_perf/floor.hpp"
#include "bench/lci_perf/one_sided.hpp"
#include "bench/lci_perf/resource.hpp"
#include "bench/lci_perf/session.hpp"

namespace lci_perf {
namespace {

int run_lci(const options& o) {
  lci::g_runtime_init();
  const int ranks = lci::get_rank_n(), rank = lci::get_rank_me();
  int code = 0;
  if (ranks > 2 || (ranks > 1 && o.op == op_kind::resource)) {
    if (rank == 0) {
      const bool alone = o.op == op_kind::resource;
      std::fprintf(stderr, "lci_perf: %d ranks; it runs on %s%s %s%s\n", ranks,
                   alone ? "1 (lci_perf " : "2 (lcirun -n 2 lci_perf ", name_of(o.op), name_of(o.metric),
                   alone ? ")" : ") or on 1, to itself");
    }
    lci::barrier();  // the launcher ends the job with the first rank: not before it was said why
    code = 2;
  } else if (o.op == op_kind::resource) {
    run_resource(o);
  } else if (is_one_sided(o.op)) {
    run_one_sided(o, ranks, rank);
  } else {
    session(o, ranks, rank).run();
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
