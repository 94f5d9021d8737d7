#include "generated/core_operations.hpp"
#include "lib/coll/plan.hpp"

namespace lci::core {

// Dissemination: after round k a rank knows of 2^(k+1) ranks, itself and those before it.
void barrier(barrier_args& a) {
  coll::plan p("barrier", coll::scope_of(a));
  coll::plan::node before;
  size_t round = 0;
  for (int distance = 1; distance < p.n(); distance *= 2, ++round) {
    const int to = (p.me() + distance) % p.n();
    const int from = (p.me() - distance + p.n()) % p.n();
    p.send(to, nullptr, 0, round, {before});
    const auto heard = p.receive(from, nullptr, 0, round);
    // The next round begins when this one and all before it have been heard.
    before = round == 0 ? heard : p.then([] {}, {before, heard});
  }
  p.run();
}

}  // namespace lci::core
