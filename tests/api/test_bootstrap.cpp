// The source of a process's rank: the attribute precedes the environment.
#include <catch2/catch.hpp>
#include <cstdlib>
#include <string>

#include <lci.hpp>

TEST_CASE("the attribute bootstrap selects the bootstrap") {
  using Catch::Contains;
  REQUIRE(setenv("LCI_ATTR_BOOTSTRAP", "nonsense", 1) == 0);
  CHECK_THROWS_WITH(lci::alloc_runtime(), Contains("nonsense") && Contains("pmi1"));
  CHECK_THROWS_WITH(lci::alloc_runtime_x().bootstrap("carrier pigeon")(),
                    Contains("carrier pigeon") && Contains("local"));
  auto rt = lci::alloc_runtime_x().bootstrap("local").bootstrap_timeout(1)();
  CHECK(lci::get_rank_n_x().runtime(rt)() == 1);
  // A process has one, for all its runtimes.
  CHECK_THROWS_AS(lci::alloc_runtime_x().bootstrap("pmi1")(), lci::bootstrap_error);
  lci::free_runtime(&rt);
}
