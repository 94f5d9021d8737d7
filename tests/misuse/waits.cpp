// For test_waits.py: mistakes after which a program waits for ever.
#include <cstdio>
#include <cstdlib>
#include <lci.hpp>
#include <string>

namespace {

void graph_with_a_wrong_rank() {
  static char in[8], out[8];
  lci::comp_t graph = lci::alloc_graph();
  (void)lci::graph_add_node_op(graph, lci::post_recv_x(0, in, sizeof in, 1, lci::COMP_NULL));
  (void)lci::graph_add_node_op(graph, lci::post_send_x(99, out, sizeof out, 1, lci::COMP_NULL));
  lci::graph_start(graph);
  std::printf("ended: %d\n", lci::graph_wait_for(graph, 0.1).is_retry() ? 0 : 1);
}

void messages_to_a_handle_that_is_not_registered() {
  char b[8] = {};
  for (int i = 0; i < 3; ++i) {
    (void)lci::post_am(0, b, sizeof b, lci::COMP_NULL, 77);
    for (int n = 0; n < 100; ++n) lci::progress();
  }
}

}  // namespace

int main(int argc, char** argv) {
  lci::g_runtime_init();
  if (argc > 1 && std::string(argv[1]) == "graph")
    graph_with_a_wrong_rank();
  else
    messages_to_a_handle_that_is_not_registered();
  std::fflush(stdout);
  std::_Exit(0);  // the graph's receive never ends
}
