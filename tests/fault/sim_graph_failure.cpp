// A graph with an operation that fails because its peer has failed: the graph fails and names the rank.
#include <catch2/catch.hpp>
#include <vector>

#include "lci.hpp"
#include "network/sim/world.hpp"

TEST_CASE("a graph fails with the peer of one of its operations") {
  const lci::global_attr_t before = lci::get_g_default_attr();
  lci::global_attr_t attr = before;
  attr.backend = lci::attr_backend_t::sim;
  attr.sim_ranks = 2;
  lci::set_g_default_attr(attr);
  lci::runtime_t ranks[2];
  for (auto& rt : ranks) rt = lci::alloc_runtime_x()();
  lci::set_g_default_attr(before);
  const auto world = lci::network::sim::world::current();

  // Sent by rendezvous, which needs a receive that the other rank never posts.
  std::vector<char> data(1 << 20);
  auto graph = lci::alloc_graph_x().runtime(ranks[0])();
  const auto sends =
      lci::graph_add_node_op(graph, lci::post_send_x(1, data.data(), data.size(), 3, lci::COMP_NULL).runtime(ranks[0]));
  static int later;
  later = 0;
  const auto after = lci::graph_add_node_x(graph, [](void*) -> lci::status_t {
                       ++later;
                       return lci::errorcode_t::done;
                     }).runtime(ranks[0])();
  lci::graph_add_edge_x(graph, sends, after).runtime(ranks[0])();
  lci::graph_start_x(graph).runtime(ranks[0])();
  for (int i = 0; i < 100; ++i)
    for (auto rt : ranks) (void)lci::progress_x().runtime(rt)();
  REQUIRE(lci::graph_test_x(graph).runtime(ranks[0])().is_retry());

  world->kill(1);
  int reported = 0;
  lci::status_t status;
  for (int i = 0; i < 1000; ++i) {
    try {
      (void)lci::progress_x().runtime(ranks[0])();
    } catch (const lci::peer_failure_error&) {
      ++reported;
    }
    status = lci::graph_test_x(graph).runtime(ranks[0])();
    if (!status.is_retry() && reported > 0) break;
  }
  CHECK(status.error == lci::errorcode_t::fatal);
  CHECK(status.rank == 1);
  CHECK(later == 0);
  CHECK(reported == 1);

  // The post throws now, so a run that starts now ends with that exception.
  lci::graph_start_x(graph).runtime(ranks[0])();
  CHECK_THROWS_AS(lci::graph_test_x(graph).runtime(ranks[0])(), lci::peer_failure_error);
  CHECK(later == 0);
  lci::free_comp_x(&graph).runtime(ranks[0])();
  for (auto& rt : ranks) lci::free_runtime(&rt);
}
