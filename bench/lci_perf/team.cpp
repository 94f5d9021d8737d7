#include "bench/lci_perf/team.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace lci_perf {

void run_or_die(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "lci_perf: %s\n", e.what());
    std::_Exit(1);
  }
}

}  // namespace lci_perf
