// Completion graphs whose nodes are functions, without a network.
#include <catch2/catch.hpp>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <thread>

#include "lci/errors.hpp"
#include "lci/handles.hpp"
#include "lib/comp/completion_queue.hpp"
#include "lib/comp/graph.hpp"
#include "tests/unit/threads.hpp"

using lci::errorcode_t;
using lci::invalid_argument_error;
using lci::status_t;
using lci::core::graph;
using lci::core::graph_node;
using lci_test::in_threads;

namespace {

/// The value of a node: records when it ran, and returns the given status.
struct step {
  std::atomic<int>* clock = nullptr;
  errorcode_t answer = errorcode_t::done;
  int retries = 0;
  int ran_at = -1;
  int runs = 0;

  static status_t run(void* self) {
    auto* s = static_cast<step*>(self);
    ++s->runs;
    if (s->retries-- > 0) return errorcode_t::retry;
    if (s->clock) s->ran_at = s->clock->fetch_add(1);
    return s->answer;
  }
};

}  // namespace

TEST_CASE("graph: test before the start returns retry; an empty graph is done at once") {
  graph g({});
  CHECK(g.attr.comp_type == lci::attr_comp_type_t::graph);
  CHECK(g.test().is_retry());
  CHECK(!g.started());
  g.start();
  CHECK(g.test().is_done());
  CHECK(g.test().is_done());
}

TEST_CASE("graph: nodes run after their predecessors, in every run") {
  std::atomic<int> clock{0};
  graph g({});
  step s[5];
  graph_node* n[5];
  for (int i = 0; i < 5; ++i) {
    s[i].clock = &clock;
    n[i] = g.add_node(step::run, &s[i], nullptr);
  }
  // 4 -> {3, 2} -> 1 -> 0
  g.add_edge(n[4], n[3], nullptr);
  g.add_edge(n[4], n[2], nullptr);
  g.add_edge(n[3], n[1], nullptr);
  g.add_edge(n[2], n[1], nullptr);
  g.add_edge(n[1], n[0], nullptr);
  g.add_edge(g.start_node(), n[4], nullptr);
  g.add_edge(n[0], g.end_node(), nullptr);
  for (int round = 1; round <= 3; ++round) {
    g.start();
    CHECK(g.test().is_done());
    for (auto& x : s) CHECK(x.runs == round);
    CHECK(s[4].ran_at < s[3].ran_at);
    CHECK(s[4].ran_at < s[2].ran_at);
    CHECK(s[3].ran_at < s[1].ran_at);
    CHECK(s[2].ran_at < s[1].ran_at);
    CHECK(s[1].ran_at < s[0].ran_at);
  }
}

TEST_CASE("graph: waits for nodes that return posted, and passes their status to the edges") {
  graph g({});
  static size_t seen_size;
  static void* seen_values[2];
  step a, b;
  a.answer = errorcode_t::posted;
  graph_node* na = g.add_node(step::run, &a, nullptr);
  graph_node* nb = g.add_node(step::run, &b, nullptr);
  g.add_edge(na, nb, [](status_t s, void* from, void* to) {
    seen_size = s.size;
    seen_values[0] = from;
    seen_values[1] = to;
  });
  for (int round = 1; round <= 2; ++round) {
    seen_size = 0;
    g.start();
    CHECK(a.runs == round);
    CHECK(g.test().is_retry());
    CHECK(g.running());
    CHECK_THROWS_AS(g.start(), invalid_argument_error);
    CHECK_THROWS_AS(g.add_node(step::run, nullptr, nullptr), invalid_argument_error);
    status_t s(errorcode_t::done);
    s.size = 77;
    s.user_context = na;
    if (round == 1) {
      graph::mark_complete(na, s);
    } else {
      g.signal(s);
    }
    CHECK(seen_size == 77);
    CHECK(seen_values[0] == &a);
    CHECK(seen_values[1] == &b);
    CHECK(b.runs == round);
    CHECK(g.test().is_done());
    CHECK_THROWS_AS(graph::mark_complete(na, s), invalid_argument_error);
  }
}

TEST_CASE("graph: a node that returns retry is run again by the deferred queue or by test") {
  for (bool own : {true, false}) {
    lci::deferred_queue deferred;
    graph g({}, nullptr, own ? nullptr : &deferred);
    step a, b, c;
    a.retries = 3;
    graph_node* na = g.add_node(step::run, &a, nullptr);
    graph_node* nb = g.add_node(step::run, &b, nullptr);
    g.add_edge(na, nb, nullptr);
    g.add_node(step::run, &c, nullptr);
    g.start();
    CHECK(a.runs == 1);
    CHECK(c.runs == 1);
    int rounds = 0;
    while (g.test().is_retry()) {
      REQUIRE(++rounds < 10);
      if (!own) {
        CHECK(deferred.count == 1);
        deferred.run();
      }
    }
    CHECK(a.runs == 4);
    CHECK(b.runs == 1);
    CHECK(deferred.count == 0);
  }
}

TEST_CASE("graph: a chain of 100,000 nodes does not overflow the stack") {
  constexpr int n = 100000;
  struct link {
    graph_node* node = nullptr;
    bool by_hand = false;
    int runs = 0;
    // Every second node completes within its function, like an operation whose handler runs at once.
    static status_t run(void* self) {
      auto* l = static_cast<link*>(self);
      ++l->runs;
      if (!l->by_hand) return errorcode_t::done;
      graph::mark_complete(l->node, errorcode_t::done);
      return errorcode_t::posted;
    }
  };
  graph g({});
  std::vector<link> links(n);
  for (int i = 0; i < n; ++i) {
    links[static_cast<size_t>(i)].by_hand = i % 2;
    links[static_cast<size_t>(i)].node = g.add_node(link::run, &links[static_cast<size_t>(i)], nullptr);
    if (i) g.add_edge(links[static_cast<size_t>(i - 1)].node, links[static_cast<size_t>(i)].node, nullptr);
  }
  for (int round = 1; round <= 2; ++round) {
    g.start();
    REQUIRE(g.test().is_done());
    int wrong = 0;
    for (auto& l : links) wrong += l.runs != round;
    CHECK(wrong == 0);
  }
}

TEST_CASE("graph: frees the values of its nodes") {
  static int freed;
  freed = 0;
  {
    graph g({});
    for (int i = 0; i < 3; ++i)
      g.add_node(step::run, new step, [](void* v) {
        ++freed;
        delete static_cast<step*>(v);
      });
    g.start();
    CHECK(freed == 0);
  }
  CHECK(freed == 3);
}

TEST_CASE("graph: with a completion object it signals the object and frees itself") {
  std::unique_ptr<lci::core::completion_queue> q(lci::core::make_queue({}));
  static int freed;
  freed = 0;
  int mark = 0;
  auto* g = new graph({}, q.get(), nullptr, &mark);
  auto* s = new step;
  s->answer = errorcode_t::posted;
  graph_node* n = g->add_node(step::run, s, [](void* v) {
    ++freed;
    delete static_cast<step*>(v);
  });
  g->start();
  status_t status;
  CHECK(!q->pop(status));
  graph::mark_complete(n, errorcode_t::done);
  REQUIRE(q->pop(status));
  CHECK(status.is_done());
  CHECK(status.user_context == &mark);
  CHECK(freed == 1);

  g = new graph({}, q.get());  // done within start()
  g->add_node(step::run, new step, [](void* v) { delete static_cast<step*>(v); });
  g->start();
  CHECK(q->pop(status));
}

TEST_CASE("graph: misuse is refused") {
  graph g({}), other({});
  graph_node* a = g.add_node(step::run, nullptr, nullptr);
  graph_node* b = g.add_node(step::run, nullptr, nullptr);
  graph_node* foreign = other.add_node(step::run, nullptr, nullptr);
  CHECK_THROWS_AS(g.add_edge(a, a, nullptr), invalid_argument_error);
  CHECK_THROWS_AS(g.add_edge(a, foreign, nullptr), invalid_argument_error);
  CHECK_THROWS_AS(g.add_edge(foreign, a, nullptr), invalid_argument_error);
  CHECK_THROWS_AS(g.add_edge(g.end_node(), a, nullptr), invalid_argument_error);
  CHECK_THROWS_AS(g.add_edge(a, g.start_node(), nullptr), invalid_argument_error);
  CHECK_THROWS_AS(g.signal(status_t(errorcode_t::done)), invalid_argument_error);
  CHECK_THROWS_AS(g.signal(status_t(static_cast<void*>(lci::GRAPH_START))), invalid_argument_error);
  status_t wrong(errorcode_t::done);
  wrong.user_context = foreign;
  CHECK_THROWS_AS(g.signal(wrong), invalid_argument_error);
  CHECK_THROWS_AS(graph::mark_complete(a, {}), invalid_argument_error);
  g.add_edge(a, b, nullptr);
  g.add_edge(b, a, nullptr);
  CHECK_THROWS_WITH(g.start(), Catch::Contains("cycle"));
  CHECK(g.test().is_retry());
}

TEST_CASE("graph: test throws a node's exception, and later nodes are skipped") {
  graph g({});
  step later, posted;
  posted.answer = errorcode_t::posted;
  static bool bad;
  bad = true;
  graph_node* np = g.add_node(step::run, &posted, nullptr);
  graph_node* nt = g.add_node(
      [](void*) -> status_t {
        if (bad) throw std::runtime_error("no luck");
        return errorcode_t::done;
      },
      nullptr, nullptr);
  graph_node* nl = g.add_node(step::run, &later, nullptr);
  g.add_edge(nt, nl, nullptr);
  g.start();
  CHECK(g.test().is_retry());  // a node is still running
  graph::mark_complete(np, errorcode_t::done);
  CHECK_THROWS_WITH(g.test(), "no luck");
  CHECK(later.runs == 0);
  bad = false;
  g.start();
  graph::mark_complete(np, errorcode_t::done);
  CHECK(g.test().is_done());
  CHECK(later.runs == 1);
}

TEST_CASE("graph: a node whose function threw is not counted again by a late mark_complete") {
  graph g({});
  step posted;
  posted.answer = errorcode_t::posted;
  graph_node* np = g.add_node(step::run, &posted, nullptr);  // first: none starts after a failure
  graph_node* nt = g.add_node([](void*) -> status_t { throw std::runtime_error("no luck"); }, nullptr, nullptr);
  g.start();
  graph::mark_complete(nt, errorcode_t::done);  // of the operation that it had posted
  CHECK(g.test().is_retry());                   // np is still running
  CHECK_THROWS_AS(graph::mark_complete(nt, errorcode_t::done), invalid_argument_error);
  graph::mark_complete(np, errorcode_t::done);
  CHECK_THROWS_WITH(g.test(), "no luck");
}

TEST_CASE("graph: a run does not end while the function of a node marked complete still runs") {
  for (bool throws : {false, true}) {
    graph g({});
    struct shared {
      graph_node* node = nullptr;
      graph* owner = nullptr;
      bool throws = false;
      bool ended_early = false;
    } s{nullptr, &g, throws, false};
    s.node = g.add_node(
        [](void* value) -> status_t {
          auto* w = static_cast<shared*>(value);
          std::thread([w] { graph::mark_complete(w->node, lci::errorcode_t::done); }).join();
          w->ended_early = !w->owner->running();
          if (w->throws) throw std::runtime_error("no luck");
          return lci::errorcode_t::posted;
        },
        &s, nullptr);
    g.start();
    CHECK_FALSE(s.ended_early);
    if (throws) {
      CHECK_THROWS_WITH(g.test(), "no luck");
    } else {
      CHECK(g.test().is_done());
    }
    CHECK_THROWS_AS(graph::mark_complete(s.node, errorcode_t::done), invalid_argument_error);
  }
}

namespace {
status_t lost(int rank) {
  status_t s(errorcode_t::fatal);
  s.rank = rank;
  return s;
}
}  // namespace

TEST_CASE("graph: a node that ends as fatal fails the run, with its rank") {
  graph g({});
  step failing, parallel, later, last;
  failing.answer = parallel.answer = errorcode_t::posted;
  graph_node* nf = g.add_node(step::run, &failing, nullptr);
  graph_node* np = g.add_node(step::run, &parallel, nullptr);
  graph_node* nl = g.add_node(step::run, &later, nullptr);
  static int edges;
  edges = 0;
  g.add_edge(nf, nl, [](status_t, void*, void*) { ++edges; });
  g.add_edge(np, g.add_node(step::run, &last, nullptr), nullptr);
  g.start();
  graph::mark_complete(nf, lost(3));
  CHECK(g.test().is_retry());  // a node is still running
  graph::mark_complete(np, lost(5));
  const status_t status = g.test();
  CHECK(status.error == errorcode_t::fatal);
  CHECK(status.rank == 3);  // the first
  CHECK(later.runs == 0);
  CHECK(last.runs == 0);
  CHECK(edges == 0);
  // The failure does not affect the next run.
  g.start();
  graph::mark_complete(nf, errorcode_t::done);
  graph::mark_complete(np, errorcode_t::done);
  CHECK(g.test().is_done());
  CHECK(g.test().rank == -1);
  CHECK(later.runs == 1);
  CHECK(last.runs == 1);
  CHECK(edges == 1);
}

TEST_CASE("graph: a failed run is reported to the completion object, with the rank if it is known") {
  std::unique_ptr<lci::core::completion_queue> q(lci::core::make_queue({}));
  int mark = 0;
  const auto fails = [&](graph_node::run_function run) {
    auto* g = new graph({}, q.get(), nullptr, &mark);
    static step later;
    later.runs = 0;
    g->add_edge(g->add_node(run, nullptr, nullptr), g->add_node(step::run, &later, nullptr), nullptr);
    g->start();
    status_t status;
    REQUIRE(q->pop(status));
    CHECK(status.error == errorcode_t::fatal);
    CHECK(status.user_context == &mark);
    CHECK(later.runs == 0);
    return status.rank;
  };
  CHECK(fails([](void*) { return lost(4); }) == 4);
  CHECK(fails([](void*) -> status_t { throw lci::peer_failure_error(2, "gone"); }) == 2);
  CHECK(fails([](void*) -> status_t { throw std::runtime_error("no luck"); }) == -1);
}

TEST_CASE("graph: a node may start another graph and wait for it") {
  struct outer {
    graph* inner;
    static status_t run(void* self) {
      auto* o = static_cast<outer*>(self);
      o->inner->start();
      // Would never end if the inner graph's nodes were put off until this node returns.
      return o->inner->test().is_done() ? errorcode_t::done : errorcode_t::posted;
    }
  };
  graph inner({}), g({});
  step a, b;
  inner.add_edge(inner.add_node(step::run, &a, nullptr), inner.add_node(step::run, &b, nullptr), nullptr);
  outer o{&inner};
  g.add_node(outer::run, &o, nullptr);
  g.start();
  CHECK(g.test().is_done());
  CHECK(b.runs == 1);
}

TEST_CASE("graph: random graphs whose nodes are completed by several threads keep their order") {
  struct work {
    graph_node* node = nullptr;
    std::vector<int> before;
    bool posted = false;
    int retries = 0;
    std::atomic<bool> done{false};
    std::vector<work>* all = nullptr;
    std::mutex* mutex = nullptr;
    std::vector<graph_node*>* pending = nullptr;
    std::atomic<int>* wrong = nullptr;
    size_t plain = 0;  // not atomic: ThreadSanitizer sees whether edges order it

    static status_t run(void* self) {
      auto* w = static_cast<work*>(self);
      if (w->retries > 0) return --w->retries, errorcode_t::retry;
      for (int b : w->before) {
        auto& p = (*w->all)[static_cast<size_t>(b)];
        if (!p.done.load(std::memory_order_relaxed) || p.plain == 0) w->wrong->fetch_add(1);
      }
      ++w->plain;
      w->done.store(true, std::memory_order_relaxed);
      if (!w->posted) return errorcode_t::done;
      std::lock_guard guard(*w->mutex);
      w->pending->push_back(w->node);
      return errorcode_t::posted;
    }
  };
  std::mt19937 random(7);
  for (int trial = 0; trial < 30 / (lci_test::sanitized ? 3 : 1); ++trial) {
    constexpr int n = 300;
    std::vector<work> all(n);
    std::mutex mutex;
    std::vector<graph_node*> pending;
    std::atomic<int> wrong{0};
    graph g({});
    for (int i = 0; i < n; ++i) {
      work& w = all[static_cast<size_t>(i)];
      w.all = &all;
      w.mutex = &mutex;
      w.pending = &pending;
      w.wrong = &wrong;
      w.posted = random() % 2;
      w.node = g.add_node(work::run, &w, nullptr);
      for (int k = static_cast<int>(random() % 4); i > 0 && k > 0; --k) {
        const int b = static_cast<int>(random() % static_cast<unsigned>(i));
        w.before.push_back(b);
        g.add_edge(all[static_cast<size_t>(b)].node, w.node, nullptr);
      }
    }
    for (int round = 0; round < 3; ++round) {
      for (auto& w : all) {
        w.done = false;
        w.retries = static_cast<int>(random() % 3);
      }
      g.start();
      in_threads(4, [&](int t) {
        while (!g.test().is_done()) {
          graph_node* node = nullptr;
          {
            std::lock_guard guard(mutex);
            if (!pending.empty()) {
              const size_t k = static_cast<size_t>(t) % pending.size();
              node = pending[k];
              pending[k] = pending.back();
              pending.pop_back();
            }
          }
          if (node) {
            graph::mark_complete(node, errorcode_t::done);
          } else {
            std::this_thread::yield();
          }
        }
        return 0;
      });
      CHECK(wrong == 0);
      int missing = 0;
      for (auto& w : all) missing += !w.done || w.plain != static_cast<size_t>(round + 1);
      CHECK(missing == 0);
    }
  }
}

TEST_CASE("graph: a sleeper uses no processor time and is woken at the end") {
  graph g({});
  step a;
  a.answer = errorcode_t::posted;
  graph_node* n = g.add_node(step::run, &a, nullptr);
  g.start();
  double cpu = 0;
  std::thread sleeper([&] {
    const double before = lci_test::thread_cpu_seconds();
    while (!g.test().is_done()) g.sleep(-1);
    cpu = lci_test::thread_cpu_seconds() - before;
  });
  lci_test::pause_ms(200);
  graph::mark_complete(n, errorcode_t::done);
  sleeper.join();
  CHECK(cpu < 0.02 * lci_test::time_scale);
}
