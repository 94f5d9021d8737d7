// Which bootstrap gives a process its rank: the attribute of alloc_runtime() takes precedence over the environment.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

#include <lci.hpp>

TEST_CASE("the attribute of a call takes precedence over LCI_ATTR_BOOTSTRAP, and all runtimes share one bootstrap") {
  using Catch::Contains;
  REQUIRE(setenv("LCI_ATTR_BOOTSTRAP", "nonsense", 1) == 0);
  CHECK_THROWS_WITH(lci::alloc_runtime(), Contains("nonsense") && Contains("pmi1"));
  CHECK_THROWS_WITH(lci::alloc_runtime_x().bootstrap("carrier pigeon")(),
                    Contains("carrier pigeon") && Contains("local"));
  auto rt = lci::alloc_runtime_x().bootstrap("local").bootstrap_timeout(1)();
  CHECK(lci::get_rank_n_x().runtime(rt)() == 1);
  // All runtimes of a process share one bootstrap, so another kind is refused.
  CHECK_THROWS_AS(lci::alloc_runtime_x().bootstrap("pmi1")(), lci::bootstrap_error);
  lci::free_runtime(&rt);
}
