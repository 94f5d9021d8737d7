// The operations on completion objects as users call them, on a runtime of the sim fabric.
#include <algorithm>
#include <catch2/catch.hpp>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>

#include "lci.hpp"
#include "tests/unit/threads.hpp"

using Catch::Contains;

namespace {

/// A job of one rank over the sim fabric. The destructor restores the default attributes.
class one_rank {
 public:
  one_rank() : before_(lci::get_g_default_attr()) {
    lci::global_attr_t attr = before_;
    attr.backend = lci::attr_backend_t::sim;
    lci::set_g_default_attr(attr);
    runtime = lci::alloc_runtime();
  }
  ~one_rank() {
    lci::free_runtime(&runtime);
    lci::set_g_default_attr(before_);
  }
  lci::runtime_t runtime;

 private:
  lci::global_attr_t before_;
};

lci::status_t tagged(lci::tag_t tag) {
  lci::status_t s(lci::errorcode_t::done);
  s.tag = tag;
  return s;
}

double seconds_of(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

lci::status_t count_runs(void* value) {
  ++*static_cast<int*>(value);
  return lci::errorcode_t::done;
}

}  // namespace

TEST_CASE("comp operations: each kind of object can be made with its attributes and works") {
  one_rank world;
  lci::comp_t sync = lci::alloc_sync_x().sync_threshold(2).runtime(world.runtime)();
  CHECK(sync.get_attr_comp_type() == lci::attr_comp_type_t::sync);
  CHECK(sync.get_attr_sync_threshold() == 2);
  lci::status_t out[2];
  lci::comp_signal(sync, tagged(1));
  CHECK(!lci::sync_test(sync, out));
  lci::comp_signal(sync, tagged(2));
  CHECK(lci::sync_test(sync, out));
  CHECK(out[1].tag == 2);
  lci::comp_signal(sync, tagged(3));
  lci::comp_signal(sync, tagged(4));
  lci::sync_wait_x(sync, out).do_progress(false).runtime(world.runtime)();
  CHECK(out[0].tag == 3);

  lci::comp_t cq =
      lci::alloc_cq_x().cq_type(lci::attr_cq_type_t::array_atomic).cq_default_length(4).runtime(world.runtime)();
  CHECK(lci::cq_pop(cq).is_retry());
  for (lci::tag_t i = 0; i < 50; ++i) lci::comp_signal(cq, tagged(i));
  for (lci::tag_t i = 0; i < 50; ++i) {
    const lci::status_t s = lci::cq_pop(cq);
    CHECK(s.is_done());
    CHECK(s.tag == i);
  }
  CHECK(lci::cq_pop(cq).is_retry());

  lci::comp_t counter = lci::alloc_counter_x().runtime(world.runtime)();
  lci::comp_signal(counter, tagged(0));
  CHECK(lci::counter_get(counter) == 1);
  lci::counter_set(counter, 41);
  lci::comp_signal(counter, tagged(0));
  CHECK(lci::counter_get(counter) == 42);

  static lci::tag_t handled;
  lci::comp_t handler = lci::alloc_handler_x([](lci::status_t s) { handled = s.tag; }).runtime(world.runtime)();
  lci::comp_signal(handler, tagged(9));
  CHECK(handled == 9);

  for (lci::comp_t* c : {&sync, &cq, &counter, &handler}) {
    lci::free_comp(c);
    CHECK(c->is_empty());
  }
}

TEST_CASE("comp operations: an object of the wrong kind is refused, with its kind and the right one in the text") {
  one_rank world;
  lci::comp_t cq = lci::alloc_cq_x().runtime(world.runtime)();
  lci::comp_t sync = lci::alloc_sync_x().runtime(world.runtime)();
  lci::status_t s;
  CHECK_THROWS_WITH(lci::cq_pop(sync),
                    Contains("cq_pop") && Contains("a synchronizer") && Contains("a completion queue (alloc_cq)"));
  CHECK_THROWS_AS(lci::sync_test(cq, &s), lci::invalid_argument_error);
  CHECK_THROWS_AS(lci::counter_get(cq), lci::invalid_argument_error);
  CHECK_THROWS_AS(lci::counter_set(sync, 1), lci::invalid_argument_error);
  CHECK_THROWS_AS(lci::graph_test(sync), lci::invalid_argument_error);
  CHECK_THROWS_AS(lci::graph_start(cq), lci::invalid_argument_error);
  for (lci::comp_t none : {lci::COMP_NULL, lci::COMP_NULL_RETRY}) {
    CHECK_THROWS_AS(lci::cq_pop(none), lci::invalid_argument_error);
    CHECK_THROWS_AS(lci::sync_test(none, &s), lci::invalid_argument_error);
    CHECK_THROWS_AS(lci::comp_signal(none, s), lci::invalid_argument_error);
    CHECK_THROWS_AS(lci::free_comp(&none), lci::invalid_argument_error);
  }
  CHECK_THROWS_WITH(lci::alloc_sync_x().sync_threshold(0).runtime(world.runtime)(), Contains("sync_threshold"));
  CHECK_THROWS_WITH(lci::alloc_cq_x().am_in_place(true).runtime(world.runtime)(), Contains("am_in_place"));
  CHECK_THROWS_AS(lci::alloc_handler_x(nullptr).runtime(world.runtime)(), lci::invalid_argument_error);
  CHECK_THROWS_AS(lci::alloc_am_handler_x(nullptr).runtime(world.runtime)(), lci::invalid_argument_error);
  lci::free_comp(&cq);
  lci::free_comp(&sync);
}

TEST_CASE("comp operations: waits end at their time-out, spinning or parked, with progress or without") {
  one_rank world;
  lci::comp_t cq = lci::alloc_cq_x().runtime(world.runtime)();
  lci::comp_t sync = lci::alloc_sync_x().runtime(world.runtime)();
  lci::comp_t counter = lci::alloc_counter_x().runtime(world.runtime)();
  lci::comp_t graph = lci::alloc_graph_x().runtime(world.runtime)();
  const lci::graph_node_t node =
      lci::graph_add_node(graph, [](void*) -> lci::status_t { return lci::errorcode_t::posted; });
  lci::graph_start(graph);
  for (bool do_progress : {true, false}) {
    for (bool park : {true, false}) {
      lci::status_t s;
      bool got[4] = {};
      const double took = seconds_of([&] {
        got[0] = lci::sync_wait_for_x(sync, 0.03, &s).do_progress(do_progress).park(park).runtime(world.runtime)();
        got[1] = lci::cq_wait_for_x(cq, 0.03).do_progress(do_progress).park(park).runtime(world.runtime)().is_done();
        got[2] = lci::counter_wait_for_x(counter, 1, 0.03).do_progress(do_progress).park(park).runtime(world.runtime)();
        got[3] =
            lci::graph_wait_for_x(graph, 0.03).do_progress(do_progress).park(park).runtime(world.runtime)().is_done();
      });
      for (bool g : got) CHECK(!g);
      CHECK(took >= 0.115);
      CHECK(took < 3 * lci_test::time_scale);
    }
  }
  lci::graph_node_mark_complete(node);
  CHECK(lci::graph_wait_for_x(graph, 0).runtime(world.runtime)().is_done());
  for (lci::comp_t* c : {&cq, &sync, &counter, &graph}) lci::free_comp(c);
}

TEST_CASE("comp operations: a thread that parks without progress is woken by a signal and uses no processor time") {
  one_rank world;
  lci::comp_t cq = lci::alloc_cq_x().runtime(world.runtime)();
  lci::comp_t sync = lci::alloc_sync_x().runtime(world.runtime)();
  lci::comp_t counter = lci::alloc_counter_x().runtime(world.runtime)();
  lci::comp_t graph = lci::alloc_graph_x().runtime(world.runtime)();
  const lci::graph_node_t node =
      lci::graph_add_node(graph, [](void*) -> lci::status_t { return lci::errorcode_t::posted; });
  lci::graph_start(graph);
  std::thread signaller([&] {
    for (lci::comp_t* c : {&sync, &cq, &counter}) {
      lci_test::pause_ms(150);
      lci::comp_signal(*c, tagged(5));
    }
    lci_test::pause_ms(150);
    lci::graph_node_mark_complete(node);
  });
  bool ok[4] = {};
  double used[4] = {};
  for (int i = 0; i < 4; ++i) {
    const double before = lci_test::thread_cpu_seconds();
    lci::status_t s;
    switch (i) {
      case 0:
        ok[i] = lci::sync_wait_for_x(sync, 30, &s).do_progress(false)();
        break;
      case 1:
        ok[i] = lci::cq_wait_for_x(cq, -1).do_progress(false)().tag == 5;
        break;
      case 2:
        ok[i] = lci::counter_wait_for_x(counter, 1, 30).do_progress(false)();
        break;
      default:
        ok[i] = lci::graph_wait_for_x(graph, 30).do_progress(false)().is_done();
    }
    used[i] = lci_test::thread_cpu_seconds() - before;
  }
  signaller.join();
  for (int i = 0; i < 4; ++i) {
    CHECK(ok[i]);
    CHECK(used[i] < 0.02 * lci_test::time_scale);
  }
  for (lci::comp_t* c : {&cq, &sync, &counter, &graph}) lci::free_comp(c);
}

TEST_CASE("comp operations: progress runs the nodes of a graph that returned retry") {
  one_rank world;
  struct stubborn {
    int left = 5;
    static lci::status_t run(void* self) {
      return --static_cast<stubborn*>(self)->left > 0 ? lci::errorcode_t::retry : lci::errorcode_t::done;
    }
  } first;
  int then = 0;
  lci::comp_t graph = lci::alloc_graph_x().runtime(world.runtime)();
  const lci::graph_node_t a = lci::graph_add_node_x(graph, stubborn::run).value(&first)();
  const lci::graph_node_t b = lci::graph_add_node_x(graph, count_runs).value(&then)();
  lci::graph_add_edge(graph, lci::GRAPH_START, a);
  lci::graph_add_edge(graph, a, b);
  lci::graph_add_edge(graph, b, lci::GRAPH_END);
  CHECK_THROWS_AS(lci::graph_wait_for_x(graph, 1).runtime(world.runtime)(), lci::invalid_argument_error);
  lci::graph_start(graph);
  CHECK(lci::graph_test(graph).is_retry());
  CHECK_THROWS_AS(lci::free_comp(&graph), lci::invalid_argument_error);
  CHECK(!graph.is_empty());
  CHECK(lci::graph_wait_for_x(graph, 30).runtime(world.runtime)().is_done());
  CHECK(first.left == 0);
  CHECK(then == 1);
  lci::free_comp(&graph);
}

TEST_CASE("comp operations: an operation as a node completes through the graph") {
  one_rank world;
  lci::comp_t graph = lci::alloc_graph_x().runtime(world.runtime)();
  char out[] = "across", in[8] = {};
  const lci::graph_node_t recv =
      lci::graph_add_node_op(graph, lci::post_recv_x(0, in, sizeof in, 3, lci::COMP_NULL).runtime(world.runtime));
  const lci::graph_node_t send =
      lci::graph_add_node_op(graph, lci::post_send_x(0, out, sizeof out, 3, lci::COMP_NULL).runtime(world.runtime));
  int after = 0;
  const lci::graph_node_t last = lci::graph_add_node_x(graph, count_runs).value(&after)();
  lci::graph_add_edge(graph, recv, last);
  lci::graph_add_edge(graph, send, last);
  for (int round = 1; round <= 3; ++round) {
    std::fill(std::begin(in), std::end(in), '\0');
    lci::graph_start(graph);
    CHECK(lci::graph_wait_for_x(graph, 30).runtime(world.runtime)().is_done());
    CHECK(std::string(in) == "across");
    CHECK(after == round);
  }
  lci::free_comp(&graph);
}

TEST_CASE("comp operations: a wait with progress inside a handler is refused instead of a deadlock") {
  one_rank world;
  static lci::comp_t inner;
  static lci::runtime_t runtime;
  static std::string text;
  text.clear();
  runtime = world.runtime;
  inner = lci::alloc_sync_x().runtime(world.runtime)();
  lci::comp_t handler = lci::alloc_handler_x([](lci::status_t s) {
                          std::free(s.buffer);
                          try {
                            lci::sync_wait_x(inner, nullptr).runtime(runtime)();
                          } catch (const lci::invalid_argument_error& e) {
                            text = e.what();
                          }
                        }).runtime(world.runtime)();
  const lci::rcomp_t rcomp = lci::register_rcomp_x(handler).runtime(world.runtime)();
  int word = 1;
  lci::post_am_x(0, &word, sizeof word, lci::COMP_NULL, rcomp).runtime(world.runtime)();
  for (int i = 0; i < 10000 && text.empty(); ++i) lci::progress_x().runtime(world.runtime)();
  CHECK_THAT(text, Contains("sync_wait") && Contains("do_progress"));
  lci::deregister_rcomp_x(rcomp).runtime(world.runtime)();
  lci::free_comp(&handler);
  lci::free_comp(&inner);
}
