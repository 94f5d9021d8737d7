// A runtime over the simulated network, beside which the other runtimes of the test keep their attributes.
#pragma once

#include "lci.hpp"

namespace sim_test {

/// Calls `alloc()`, which allocates a runtime, while the default network is the simulated one. Returns the runtime.
template <class F>
lci::runtime_t over_sim(F alloc) {
  const lci::global_attr_t before = lci::get_g_default_attr();
  lci::global_attr_t attr = before;
  attr.backend = lci::attr_backend_t::sim;
  lci::set_g_default_attr(attr);
  const lci::runtime_t rt = alloc();
  lci::set_g_default_attr(before);
  return rt;
}
inline lci::runtime_t over_sim() {
  return over_sim([] { return lci::alloc_runtime(); });
}

}  // namespace sim_test
