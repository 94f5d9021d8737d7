// Calls that succeed: arguments and results of all sizes, futures, handles, contexts, pools, nodes of graphs.
#include <chrono>
#include <future>
#include <mutex>

#include "tests/layers/rpc/engines.hpp"

using namespace test;

namespace {

struct entry {
  std::string name;
  uint64_t size = 0;
  template <class A>
  void serialize(A& archive) {
    archive(name, size);
  }
  bool operator==(const entry&) const = default;
};

constexpr rpc::procedure<int(std::string, int)> open_file{"open"};

}  // namespace

TEST_CASE("a function is called by its name, with the types of its parameters") {
  const engines e;
  e.server.define("open",
                  [](const std::string& path, int flags) -> int { return static_cast<int>(path.size()) + flags; });
  const auto open = e.client.declare<int(const std::string&, int)>("open");
  CHECK(open.on(e.there)("a path", 1) == 7);
  const std::string path = "another";
  CHECK(open.on(e.there)(path, short{2}) == 9);
  CHECK(open.on(e.there)(std::string_view("xy"), 0) == 2);
  CHECK(open.on(e.there)(static_cast<const char*>(nullptr), 3) == 3);
  CHECK(open.name() == "open");
}

TEST_CASE("both sides may share a procedure") {
  const engines e;
  e.server.define(open_file, [](const std::string& path, int) { return static_cast<int>(path.size()); });
  CHECK(e.client.declare(open_file).on(e.there)("four", 0) == 4);
}

TEST_CASE("functions without arguments or result, function pointers and structs") {
  const engines e;
  std::atomic<int> calls{0};
  e.server.define("count", [&calls] { ++calls; });
  e.client.declare<void()>("count").on(e.there)();
  CHECK(calls == 1);
  e.server.define("list", [](const std::string& prefix, const std::vector<entry>& entries) {
    std::vector<entry> found;
    for (const entry& x : entries)
      if (x.name.rfind(prefix, 0) == 0) found.push_back(x);
    return found;
  });
  const auto list = e.client.declare<std::vector<entry>(std::string, std::vector<entry>)>("list");
  CHECK(list.on(e.there)("a", std::vector<entry>{{"ab", 1}, {"b", 2}, {"ac", 3}}) ==
        std::vector<entry>{{"ab", 1}, {"ac", 3}});
  int (*twice)(int) = [](int x) { return 2 * x; };
  e.server.define("twice", twice);
  CHECK(e.client.declare<int(int)>("twice").on(e.there)(21) == 42);
}

TEST_CASE("arguments and results of every size arrive, including those of many messages") {
  const engines e;
  e.server.define("echo", [](std::vector<uint32_t> v) { return v; });
  e.server.define("sum", [](rpc::view<uint32_t> v) {
    uint64_t sum = 0;
    for (const uint32_t x : v) sum += x;
    return sum;
  });
  const auto echo = e.client.declare<std::vector<uint32_t>(std::vector<uint32_t>)>("echo");
  const auto sum = e.client.declare<uint64_t(rpc::view<uint32_t>)>("sum");
  for (size_t n : {0, 1, 900, 1000, 1006, 1007, 1008, 1012, 1013, 1014, 1015, 2000, 8191, 8192, 100000, 3000000}) {
    std::vector<uint32_t> v(n);
    uint64_t expected = 0;
    for (size_t i = 0; i < n; ++i) expected += v[i] = static_cast<uint32_t>(i * 2654435761u);
    CHECK(sum.on(e.there)(v) == expected);
    CHECK(echo.on(e.there)(v) == v);
    CHECK(echo.call_x(e.there, v)().get() == v);
    CHECK(echo.call_x(e.there, std::vector<uint32_t>(v))().get() == v);
  }
}

TEST_CASE("a large rvalue argument is moved, an lvalue is unchanged") {
  const engines e;
  e.server.define("size", [](const std::vector<char>& v) { return v.size(); });
  const auto size = e.client.declare<size_t(std::vector<char>)>("size");
  std::vector<char> large(1000000, 'x');
  CHECK(size.call_x(e.there, large)().get() == 1000000);
  CHECK(large.size() == 1000000);
  auto f = size.call_x(e.there, std::move(large))();
  CHECK(large.empty());
  CHECK(f.get() == 1000000);
}

TEST_CASE("a call with a large rvalue argument can be posted again, unless it is an rvalue itself") {
  const engines e;
  e.server.define("size", [](const std::vector<char>& v) { return v.size(); });
  const auto size = e.client.declare<size_t(std::vector<char>)>("size");
  auto call = size.call_x(e.there, std::vector<char>(1000000, 'x'));
  call.deadline(std::chrono::minutes(1));
  for (int i = 0; i < 3; ++i) CHECK(call().get() == 1000000);
  std::vector<char> large(1000000, 'x');
  auto f = size.call_x(e.there, std::move(large)).deadline(std::chrono::minutes(1))();
  CHECK(f.get() == 1000000);
}

TEST_CASE("many calls are outstanding at once, and complete in any order") {
  const engines e;
  e.server.define("next", [](int x) { return x + 1; });
  const auto next = e.client.declare<int(int)>("next");
  std::vector<rpc::future<int>> futures;
  for (int i = 0; i < 3000; ++i) futures.push_back(next.call_x(e.there, i)());
  for (int i = 2999; i >= 0; --i) CHECK(futures[static_cast<size_t>(i)].get() == i + 1);
}

TEST_CASE("a future can be waited for, tested and destroyed") {
  engines e;
  std::promise<void> go;
  std::shared_future<void> may = go.get_future();
  e.server.define("slow", [may](int x) {
    may.wait();
    return x;
  });
  const auto slow = e.client.declare<int(int)>("slow");
  auto f = slow.call_x(e.there, 5)();
  CHECK_FALSE(f.is_ready());
  CHECK_FALSE(f.wait_for(20ms));
  { const auto abandoned = slow.call_x(e.there, 6)(); }
  go.set_value();
  CHECK(f.wait_for(10s));
  CHECK(f.is_ready());
  CHECK(f.get() == 5);
  CHECK_FALSE(static_cast<bool>(f));
  CHECK(slow.on(e.there)(7) == 7);
}

TEST_CASE("a function that answers later owns a handle, by which any thread may answer") {
  const engines e;
  std::mutex lock;  // for the list: a thread may answer before the function that has started it returns
  std::vector<std::thread> threads;
  e.server.define("later", [&](rpc::handle<std::string> h, std::string text) {
    const std::lock_guard guard(lock);
    threads.emplace_back([h = std::move(h), text = std::move(text)]() mutable {
      std::this_thread::sleep_for(10ms);
      if (text == "fail") {
        h.fail(std::domain_error("as asked"));
      } else if (text != "drop") {
        h(text + "!");
      }
    });
  });
  const auto later = e.client.declare<std::string(std::string)>("later");
  auto a = later.call_x(e.there, "a")(), b = later.call_x(e.there, "b")();
  CHECK(b.get() == "b!");
  CHECK(a.get() == "a!");
  CHECK(thrown_by<std::domain_error>([&] { later.on(e.there)("fail"); }) == "as asked");
  CHECK_THROWS_AS(later.on(e.there)("drop"), rpc::no_answer_error);
  const std::lock_guard guard(lock);
  for (std::thread& t : threads) t.join();
}

TEST_CASE("a function gets its caller and can call it back") {
  const engines e;
  e.server.define("who", [&e](const rpc::context& c) {
    const auto name = e.server.declare<std::string()>("name");
    return name.call_x(c.caller())().get() + ", calling";
  });
  e.client.define("name", [] { return std::string("client"); });
  // The client's thread waits, and executes "name" meanwhile.
  CHECK(e.client.declare<std::string()>("who").on(e.there)() == "client, calling");
}

TEST_CASE("two engines whose functions call each other do not wait for ever") {
  rpc::engine a("tcp://127.0.0.1", rpc::options().background()), b("tcp://127.0.0.1", rpc::options().background());
  const rpc::peer at_a = b.connect(a.url()), at_b = a.connect(b.url());
  const auto on_a = b.declare<int(int)>("down"), on_b = a.declare<int(int)>("down");
  a.define("down", [&](int n) { return n == 0 ? 0 : 1 + on_b.on(at_b)(n - 1); });
  b.define("down", [&](int n) { return n == 0 ? 0 : 1 + on_a.on(at_a)(n - 1); });
  CHECK(on_b.on(at_b)(20) == 20);
}

TEST_CASE("functions of a pool are executed by its threads, several at once") {
  const engines e(rpc::options().background().pool(3));
  std::atomic<int> inside{0}, most{0};
  e.server.define(
      "work",
      [&] {
        const int n = ++inside;
        for (int seen = most; seen < n && !most.compare_exchange_weak(seen, n);) {
        }
        std::this_thread::sleep_for(50ms);
        --inside;
        return std::this_thread::get_id() != std::thread::id();
      },
      rpc::where::pool);
  const auto work = e.client.declare<bool()>("work");
  std::vector<rpc::future<bool>> futures;
  for (int i = 0; i < 6; ++i) futures.push_back(work.call_x(e.there)());
  for (auto& f : futures) CHECK(f.get());
  CHECK(most >= 2);
}

TEST_CASE("the program's threads execute functions if the engine has no threads") {
  const engines e{rpc::options()};
  e.server.define("one", [] { return 1; });
  auto f = e.client.declare<int()>("one").call_x(e.there)();
  CHECK_FALSE(f.wait_for(20ms));
  while (!f.wait_for(1ms)) e.server.progress(1ms);
  CHECK(f.get() == 1);
  std::thread runs([&] { e.server.run(); });
  CHECK(e.client.declare<int()>("one").on(e.there)() == 1);
  e.server.stop();
  runs.join();
}

TEST_CASE("an engine calls itself, with and without a network") {
  for (const char* url : {"self", "tcp://127.0.0.1"}) {
    rpc::engine e(url);
    const auto twice = e.define("twice", [](int x) { return 2 * x; });
    CHECK(twice.on(e.self())(4) == 8);
    const auto size = e.define("size", [](const std::string& s) { return s.size(); });
    CHECK(size.on(e.self())(std::string(100000, 'x')) == 100000);
  }
}

TEST_CASE("several threads call one server by one engine") {
  const engines e;
  e.server.define("add", [](int a, int b) { return a + b; });
  const auto add = e.client.declare<int(int, int)>("add");
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 300; ++i) right += add.on(e.there)(t, i) == t + i ? 1 : 0;
    });
  for (std::thread& t : threads) t.join();
  CHECK(right == 1200);
}

TEST_CASE("a call is a node of a completion graph") {
  rpc::engine server("tcp://127.0.0.1", rpc::options().background());
  rpc::engine client("tcp://127.0.0.1", rpc::options().client().background());
  server.define("add", [](int a, int b) { return a + b; });
  server.define("bad", []() -> int { throw std::out_of_range("outside"); });
  const rpc::peer there = client.connect(server.url());
  lci::runtime_t runtime = lci::alloc_runtime_x().bootstrap("none")();
  auto first = client.declare<int(int, int)>("add").call_x(there, 1, 2).node();
  auto second = client.declare<int()>("bad").call_x(there).node();
  lci::comp_t graph = lci::alloc_graph_x().runtime(runtime)();
  const auto a = lci::graph_add_node_op(graph, first);
  const auto b = lci::graph_add_node_op(graph, second);
  lci::graph_add_edge(graph, a, b);
  for (int round = 0; round < 3; ++round) {
    lci::graph_start(graph);
    while (lci::graph_test(graph).is_retry()) std::this_thread::yield();
    CHECK(first.get() == 3);
    CHECK_THROWS_AS(second.get(), std::out_of_range);
  }
  lci::free_comp_x(&graph).runtime(runtime)();
  lci::free_runtime(&runtime);
}
