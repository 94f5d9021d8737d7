// Graphs: operations and functions run in the order of the edges.
#include <new>
#include <string>

#include "tests/conformance/inbox.hpp"
#include "tests/conformance/pattern.hpp"

using namespace conf;

namespace {

/// Where a node records when it ran.
struct trace {
  std::atomic<int> next{0};
  int at[8] = {};
};
struct step {
  trace* where;
  int number;
};
lci::status_t leave_mark(void* value) {
  auto* s = static_cast<step*>(value);
  s->where->at[s->number] = s->where->next.fetch_add(1) + 1;
  return lci::errorcode_t::done;
}

}  // namespace

TEST_CASE("the nodes of a graph run in the order of its edges, every time it is started", "[graph]") {
  on_ranks([](rank_env& env) {
    const auto rt = env.rt;
    auto graph = lci::alloc_graph_x().runtime(rt)();
    trace t;
    step steps[4] = {{&t, 0}, {&t, 1}, {&t, 2}, {&t, 3}};
    lci::graph_node_t n[4];
    for (int i = 0; i < 4; ++i) n[i] = lci::graph_add_node_x(graph, leave_mark).value(&steps[i]).runtime(rt)();
    // 0 before 1 and 2, both before 3
    lci::graph_add_edge_x(graph, lci::GRAPH_START, n[0]).runtime(rt)();
    lci::graph_add_edge_x(graph, n[0], n[1]).runtime(rt)();
    lci::graph_add_edge_x(graph, n[0], n[2]).runtime(rt)();
    lci::graph_add_edge_x(graph, n[1], n[3]).runtime(rt)();
    lci::graph_add_edge_x(graph, n[2], n[3]).runtime(rt)();
    lci::graph_add_edge_x(graph, n[3], lci::GRAPH_END).runtime(rt)();
    EXPECT(!lci::graph_test_x(graph).runtime(rt)().is_done());
    for (int round = 0; round < 3; ++round) {
      t.next = 0;
      lci::graph_start_x(graph).runtime(rt)();
      env.until("the graph", [&] { return lci::graph_test_x(graph).runtime(rt)().is_done(); });
      EXPECT_EQ(t.at[0], 1);
      EXPECT(t.at[1] > t.at[0] && t.at[2] > t.at[0]);
      EXPECT_EQ(t.at[3], 4);
    }
    lci::free_comp_x(&graph).runtime(rt)();
  });
}

TEST_CASE("operations of a graph start when their predecessors are complete", "[graph]") {
  const size_t size = GENERATE(size_t{8}, size_t{3000}, size_t{60'000});
  INFO(size << " bytes");
  on_ranks([size](rank_env& env) {
    const auto rt = env.rt;
    // Receive from the left, then forward the message to the right; rank 0 sends first.
    auto graph = lci::alloc_graph_x().runtime(rt)();
    std::vector<char> buffer(size);
    if (env.rank == 0) fill(buffer.data(), size, 7);
    auto recv = lci::post_recv_x(env.left(), buffer.data(), size, 3, graph).runtime(rt).allow_retry(false);
    auto send = lci::post_send_x(env.right(), buffer.data(), size, 3, graph).runtime(rt).allow_retry(false);
    const auto receives = lci::graph_add_node_op(graph, recv);
    const auto sends = lci::graph_add_node_op(graph, send);
    const auto first = env.rank == 0 ? sends : receives;
    const auto second = env.rank == 0 ? receives : sends;
    lci::graph_add_edge_x(graph, lci::GRAPH_START, first).runtime(rt)();
    if (env.size > 1)
      lci::graph_add_edge_x(graph, first, second).runtime(rt)();
    else  // a large send to the same rank does not end before its receive is posted
      lci::graph_add_edge_x(graph, lci::GRAPH_START, second).runtime(rt)();
    lci::graph_add_edge_x(graph, second, lci::GRAPH_END).runtime(rt)();
    if (env.size == 1) lci::graph_add_edge_x(graph, first, lci::GRAPH_END).runtime(rt)();
    for (int round = 0; round < 3; ++round) {
      if (env.rank != 0) buffer.assign(size, 0);
      lci::graph_start_x(graph).runtime(rt)();
      env.until("the graph", [&] { return lci::graph_test_x(graph).runtime(rt)().is_done(); });
      EXPECT(matches(buffer.data(), size, 7));
      env.barrier();
    }
    lci::free_comp_x(&graph).runtime(rt)();
  });
}

TEST_CASE("a graph waits for nodes that are completed from outside, and signals its completion object", "[graph]") {
  on_ranks([](rank_env& env) {
    const auto rt = env.rt;
    inbox box(env, inbox_kind::queue_lcrq, 1, false);
    auto graph = lci::alloc_graph_x().comp(box.comp()).runtime(rt)();
    trace t;
    step last{&t, 0};
    const auto waits =
        lci::graph_add_node_x(graph, [](void*) -> lci::status_t { return lci::errorcode_t::posted; }).runtime(rt)();
    const auto then = lci::graph_add_node_x(graph, leave_mark).value(&last).runtime(rt)();
    lci::graph_add_edge_x(graph, lci::GRAPH_START, waits).runtime(rt)();
    lci::graph_add_edge_x(graph, waits, then).runtime(rt)();
    lci::graph_add_edge_x(graph, then, lci::GRAPH_END).runtime(rt)();
    lci::graph_start_x(graph).runtime(rt)();
    for (int i = 0; i < 20; ++i) env.progress();
    EXPECT(box.empty());
    EXPECT_EQ(t.at[0], 0);
    lci::status_t s(lci::errorcode_t::done);
    lci::graph_node_mark_complete_x(waits).status(s).runtime(rt)();
    box.collect();  // a graph with a completion object frees itself
    EXPECT_EQ(t.at[0], 1);
  });
}

TEST_CASE("an edge's function gets the status of the node before it", "[graph]") {
  on_ranks([](rank_env& env) {
    const auto rt = env.rt;
    auto graph = lci::alloc_graph_x().runtime(rt)();
    const auto out = message(16, static_cast<uint64_t>(env.rank));
    std::vector<char> in(16);
    struct seen {
      int rank = -2;
      size_t size = 0;
    } what;
    auto recv = lci::post_recv_x(env.left(), in.data(), in.size(), 3, graph).runtime(rt).allow_retry(false);
    const auto receives = lci::graph_add_node_op(graph, recv);
    const auto end = lci::graph_add_node_x(graph, [](void*) -> lci::status_t { return lci::errorcode_t::done; })
                         .value(&what)
                         .runtime(rt)();
    lci::graph_add_edge_x(graph, lci::GRAPH_START, receives).runtime(rt)();
    lci::graph_add_edge_x(graph, receives, end)
        .fn([](lci::status_t s, void*, void* to) {
          static_cast<seen*>(to)->rank = s.rank;
          static_cast<seen*>(to)->size = s.size;
        })
        .runtime(rt)();
    lci::graph_add_edge_x(graph, end, lci::GRAPH_END).runtime(rt)();
    lci::graph_start_x(graph).runtime(rt)();
    env.post(
        [&] { return lci::post_send_x(env.right(), out.data(), out.size(), 3, lci::COMP_NULL_RETRY).runtime(rt)(); });
    EXPECT(lci::graph_wait_for_x(graph, 30.0).runtime(rt)().is_done());
    EXPECT_EQ(what.rank, env.left());
    EXPECT_EQ(what.size, size_t{16});
    env.barrier();
    lci::free_comp_x(&graph).runtime(rt)();
  });
}

TEST_CASE("a node that is completed as fatal fails its graph", "[graph]") {
  on_ranks([](rank_env& env) {
    const auto rt = env.rt;
    trace t;
    step after{&t, 0};
    lci::status_t lost(lci::errorcode_t::fatal);
    lost.rank = 7;
    const auto build = [&](lci::comp_t comp, lci::graph_node_t& waits) {
      auto graph = lci::alloc_graph_x().comp(comp).runtime(rt)();
      waits =
          lci::graph_add_node_x(graph, [](void*) -> lci::status_t { return lci::errorcode_t::posted; }).runtime(rt)();
      const auto then = lci::graph_add_node_x(graph, leave_mark).value(&after).runtime(rt)();
      lci::graph_add_edge_x(graph, waits, then).runtime(rt)();
      lci::graph_start_x(graph).runtime(rt)();
      return graph;
    };
    lci::graph_node_t node;
    auto graph = build({}, node);
    lci::graph_node_mark_complete_x(node).status(lost).runtime(rt)();
    for (const auto& s : {lci::graph_test_x(graph).runtime(rt)(), lci::graph_wait_for_x(graph, 30.0).runtime(rt)()}) {
      EXPECT_EQ(s.error, lci::error_t(lci::errorcode_t::fatal));
      EXPECT_EQ(s.rank, 7);
    }
    lci::free_comp_x(&graph).runtime(rt)();

    auto queue = lci::alloc_cq_x().runtime(rt)();
    build(queue, node);
    lci::graph_node_mark_complete_x(node).status(lost).runtime(rt)();
    const auto told = lci::cq_pop_x(queue).runtime(rt)();
    EXPECT_EQ(told.error, lci::error_t(lci::errorcode_t::fatal));
    EXPECT_EQ(told.rank, 7);
    EXPECT_EQ(t.next.load(), 0);
    lci::free_comp_x(&queue).runtime(rt)();
  });
}

namespace {

/// A graph node's function whose copy constructor throws std::bad_alloc.
struct large_operation {
  large_operation() = default;
  large_operation(const large_operation&) { throw std::bad_alloc(); }
  void user_context(void*) {}
  void operator()() {}
};
struct large_collective {
  large_collective() = default;
  large_collective(const large_collective&) { throw std::bad_alloc(); }
  void comp(lci::comp_t) {}
  void call() {}
};

}  // namespace

TEST_CASE("a node for which there is no memory is refused like a post", "[graph]") {
  on_ranks([](rank_env& env) {
    auto graph = lci::alloc_graph_x().runtime(env.rt)();
    const large_operation operation;
    const large_collective collective;
    const auto is_refused = [&](const auto& what) {
      try {
        lci::graph_add_node_op(graph, what);
      } catch (const lci::resource_error& e) {
        return std::string(e.what()).find("graph_add_node_op") != std::string::npos;
      }
      return false;
    };
    EXPECT(is_refused(operation));
    EXPECT(is_refused(collective));
    lci::graph_start_x(graph).runtime(env.rt)();
    EXPECT(lci::graph_test_x(graph).runtime(env.rt)().is_done());
    lci::free_comp_x(&graph).runtime(env.rt)();
  });
}
