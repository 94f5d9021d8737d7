#include "bench/lci_perf/team.hpp"

#include <cstdio>
#include <cstdlib>
#include <exception>

namespace lci_perf {

void run_or_die(const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& e) {
    give_up(e.what());
  }
}

void give_up(const std::string& why) {
  std::fprintf(stderr, "lci_perf: %s\n", why.c_str());
  std::_Exit(1);
}

}  // namespace lci_perf
