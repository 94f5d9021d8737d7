// Calls that fail: each kind of failure has its own exception type, and no call waits for ever.
#include <future>
#include <system_error>

#include "tests/layers/rpc/engines.hpp"

using namespace test;

namespace {

struct own_error : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct unwilling {
  int value = 0;
  template <class A>
  void serialize(A& archive) {
    if (value == 13) throw own_error("13 is not encoded");
    archive(value);
    if (value == 14) throw own_error("14 is not decoded");
  }
};

template <class E>
void check_standard(const engines& e, const char* text) {
  e.server.define("throws", [text]() -> int { throw E(text); });
  try {
    e.client.declare<int()>("throws").on(e.there)();
    FAIL("nothing was thrown");
  } catch (const std::exception& thrown) {
    CHECK(typeid(thrown) == typeid(E));
    CHECK(std::string(thrown.what()) == text);
  }
}

}  // namespace

TEST_CASE("the caller gets standard exceptions of a function with their types") {
  const engines e;
  check_standard<std::runtime_error>(e, "a");
  check_standard<std::logic_error>(e, "b");
  check_standard<std::invalid_argument>(e, "c");
  check_standard<std::domain_error>(e, "d");
  check_standard<std::length_error>(e, "e");
  check_standard<std::out_of_range>(e, "f");
  check_standard<std::range_error>(e, "g");
  check_standard<std::overflow_error>(e, "h");
  check_standard<std::underflow_error>(e, "");
  e.server.define("system", [] { throw std::system_error(ENOENT, std::generic_category(), "opening x"); });
  try {
    e.client.declare<void()>("system").on(e.there)();
    FAIL("nothing was thrown");
  } catch (const std::system_error& thrown) {
    CHECK(thrown.code() == std::errc::no_such_file_or_directory);
    CHECK(std::string(thrown.what()) == "opening x: No such file or directory");
  }
  e.server.define("memory", [] { throw std::bad_alloc(); });
  CHECK_THROWS_AS(e.client.declare<void()>("memory").on(e.there)(), std::bad_alloc);
}

TEST_CASE("the caller gets other exceptions of a function with the type's name and text") {
  const engines e;
  e.server.define("own", [] { throw own_error("what happened"); });
  e.server.define("number", [] { throw 5; });
  e.server.define("long", [] { throw own_error(std::string(100000, 'x')); });
  try {
    e.client.declare<void()>("own").on(e.there)();
    FAIL("nothing was thrown");
  } catch (const rpc::remote_exception& thrown) {
    CHECK(has(thrown.type(), "own_error"));
    CHECK(std::string(thrown.what()) == "what happened");
  }
  try {
    e.client.declare<void()>("number").on(e.there)();
    FAIL("nothing was thrown");
  } catch (const rpc::remote_exception& thrown) {
    CHECK(thrown.type() == "int");
  }
  const std::string text = thrown_by<rpc::remote_exception>([&] { e.client.declare<void()>("long").on(e.there)(); });
  CHECK(text.size() > 3000);
}

TEST_CASE("exceptions of encoders reach the caller that encodes or waits") {
  const engines e;
  e.server.define("pass", [](unwilling u) {
    u.value += 1;
    return u;
  });
  const auto pass = e.client.declare<unwilling(unwilling)>("pass");
  CHECK(pass.on(e.there)(unwilling{1}).value == 2);
  CHECK_THROWS_AS(pass.on(e.there)(unwilling{13}), own_error);
  CHECK_THROWS_AS(pass.call_x(e.there, unwilling{13})(), own_error);
  // 12 becomes 13, which the server can't encode; 13 + 1 would not be decoded there.
  CHECK(thrown_by<rpc::remote_exception>([&] { pass.on(e.there)(unwilling{12}); }) == "13 is not encoded");
  CHECK(pass.on(e.there)(unwilling{5}).value == 6);
}

TEST_CASE("the error for wrong types names both signatures, that for an unknown name none") {
  const engines e;
  e.server.define("open", [](const std::string&, int) { return 1; });
  for (const std::string& text : {
           thrown_by<rpc::signature_error>([&] { e.client.declare<int(int)>("open").on(e.there)(1); }),
           thrown_by<rpc::signature_error>([&] { e.client.declare<int(std::string)>("open").on(e.there)("x"); }),
           thrown_by<rpc::signature_error>(
               [&] { e.client.declare<void(std::string, int)>("open").on(e.there)("x", 1); }),
       }) {
    CHECK(has(text, "call of \"open\""));
    CHECK(has(text, "the function is int32(string, int32)"));
    CHECK(has(text, "the call is "));
  }
  const std::string text =
      thrown_by<rpc::unknown_function_error>([&] { e.client.declare<int(int)>("nobody").on(e.there)(1); });
  CHECK(has(text, "\"nobody\""));
}

TEST_CASE("a deadline ends a call, whether a thread waits for it or not, and later calls work") {
  engines e;
  std::promise<void> go;
  std::shared_future<void> may = go.get_future();
  e.server.define("stuck", [may](int x) {
    may.wait();
    return x;
  });
  const auto stuck = e.client.declare<int(int)>("stuck");
  const auto begin = std::chrono::steady_clock::now();
  CHECK_THROWS_AS(stuck.on(e.there).deadline(50ms)(1), rpc::timeout_error);
  auto f = stuck.call_x(e.there, 2).deadline(50ms)();
  CHECK_THROWS_AS(f.get(), rpc::timeout_error);
  auto g = stuck.call_x(e.there, std::string(100000, 'x').size()).deadline(50ms)();
  while (!g.is_ready()) e.client.progress(10ms);
  CHECK_THROWS_AS(g.get(), rpc::timeout_error);
  const auto took = std::chrono::steady_clock::now() - begin;
  CHECK(took >= 100ms);
  CHECK(took < 20s);
  auto h = stuck.call_x(e.there, 4)();
  h.cancel();
  CHECK_THROWS_AS(h.get(), rpc::cancelled_error);
  go.set_value();
  CHECK(stuck.on(e.there)(5) == 5);
}

TEST_CASE("thousands of timed-out calls leave no resources behind") {
  engines e;
  std::promise<void> go;
  std::shared_future<void> may = go.get_future();
  e.server.define("stuck", [may] { may.wait(); });
  const auto stuck = e.client.declare<void()>("stuck");
  for (int i = 0; i < 3000; ++i) stuck.call_x(e.there)().cancel();
  go.set_value();
  e.server.define("one", [] { return 1; });
  CHECK(e.client.declare<int()>("one").on(e.there)() == 1);
}

TEST_CASE("arguments and results beyond the limit are refused") {
  rpc::engine server("tcp://127.0.0.1", rpc::options().background().largest(100000));
  rpc::engine client("tcp://127.0.0.1", rpc::options().client().largest(50000));
  server.define("size", [](rpc::view<char> v) { return v.size(); });
  server.define("make", [](size_t n) { return std::string(n, 'x'); });
  const rpc::peer there = client.connect(server.url());
  const auto size = client.declare<size_t(rpc::view<char>)>("size");
  const auto make = client.declare<std::string(size_t)>("make");
  CHECK(size.on(there)(std::string(99000, 'x')) == 99000);
  CHECK_THROWS_AS(size.on(there)(std::string(101000, 'x')), rpc::size_error);
  CHECK(make.on(there)(49000).size() == 49000);
  CHECK_THROWS_AS(make.on(there)(51000), rpc::size_error);
  CHECK(make.on(there)(1000).size() == 1000);
}

TEST_CASE("closing an engine ends outstanding calls, and later calls are refused") {
  rpc::engine server("tcp://127.0.0.1", rpc::options());  // no thread makes progress on it
  auto client = std::make_unique<rpc::engine>("tcp://127.0.0.1", rpc::options().client());
  const auto f = client->declare<int(int)>("any");
  const rpc::peer there = client->connect(server.url());
  auto under_way = f.call_x(there, 1)();
  std::thread waits([&] { CHECK_THROWS_AS(f.on(there)(2), rpc::cancelled_error); });
  std::this_thread::sleep_for(50ms);
  client->close();
  waits.join();
  CHECK_THROWS_AS(under_way.get(), rpc::cancelled_error);
  CHECK_THROWS_AS(f.on(there)(3), lci::invalid_argument_error);
  client.reset();
  CHECK_THROWS_AS(f.on(there)(4), lci::invalid_argument_error);
  CHECK_THROWS_AS(there.url(), lci::invalid_argument_error);
}

TEST_CASE("closing a server answers calls that it has not executed, and unanswered handles") {
  auto server = std::make_unique<rpc::engine>("tcp://127.0.0.1", rpc::options());
  rpc::engine client("tcp://127.0.0.1", rpc::options().client());
  std::vector<rpc::handle<int>> forgotten;
  server->define("later", [&](rpc::handle<int> h) { forgotten.push_back(std::move(h)); });
  server->define("waits", [] { return 1; });
  const rpc::peer there = client.connect(server->url());
  auto a = client.declare<int()>("later").call_x(there)();
  while (forgotten.empty()) {
    client.progress();
    server->progress(1ms);
  }
  auto b = client.declare<int()>("waits").call_x(there)();
  std::this_thread::sleep_for(20ms);
  server.reset();
  // Either the answer arrives or the disconnect: both are errors.
  CHECK_THROWS_AS(a.get(), rpc::error);
  CHECK_THROWS_AS(b.get(), rpc::error);
  forgotten.front()(5);  // has no effect
  CHECK_THROWS_AS(forgotten.front()(6), lci::invalid_argument_error);
}

TEST_CASE("closing an engine frees its functions, also those that own functions and peers of the engine") {
  const auto captured = std::make_shared<int>(0);
  {
    rpc::engine e("self");
    const auto next = e.define("next", [captured](int x) { return x + 1; });
    e.define("both", [captured, next, self = e.self()](int x) { return next.on(self)(x); });
    e.define("both", [captured, next, self = e.self()](int x) { return next.on(self)(x) + 1; });
    CHECK(e.declare<int(int)>("both").on(e.self())(1) == 3);
    CHECK(captured.use_count() == 4);
    e.close();
    CHECK(captured.use_count() == 1);
  }
  {
    const rpc::engine e("self");
    e.define("owns", [captured, self = e.self()] { return *captured; });
  }
  CHECK(captured.use_count() == 1);
}

TEST_CASE("a thread may drop a handle while its engine closes") {
  const rpc::engine client("tcp://127.0.0.1", rpc::options().client().background());
  const std::string large(100'000, 'x');  // which the server fetches
  for (int i = 0; i < 20; ++i) {
    rpc::engine server("tcp://127.0.0.1", rpc::options().background());
    std::vector<rpc::handle<int>> kept;
    std::atomic<int> n{0};
    server.define("later", [&](rpc::handle<int> h, const std::string&) {
      kept.push_back(std::move(h));
      n.fetch_add(1);
    });
    const rpc::peer there = client.connect(server.url());
    std::vector<rpc::future<int>> calls;
    for (int k = 0; k < 20; ++k) calls.push_back(client.declare<int(std::string)>("later").call_x(there, large)());
    while (n.load() < 20) std::this_thread::yield();
    std::thread drops([&] { kept.clear(); });
    server.close();
    drops.join();
    for (auto& c : calls) CHECK_THROWS_AS(c.get(), rpc::error);
  }
}

TEST_CASE("misuse is an error with a text") {
  const engines e;
  CHECK_THROWS_AS(rpc::engine("nonsense"), lci::invalid_argument_error);
  CHECK_THROWS_AS(rpc::engine("tcp://127.0.0.1:port"), lci::invalid_argument_error);
  CHECK_THROWS_AS(rpc::engine("tcp://127.0.0.1:99999"), lci::invalid_argument_error);
  CHECK_THROWS_AS(rpc::engine("nothing://127.0.0.1:1"), lci::invalid_argument_error);
  CHECK_THROWS_AS(rpc::engine("tcp://256.1.1.1.1.1:1"), lci::resource_error);
  CHECK_THROWS_AS(e.client.connect("tcp://127.0.0.1:1"), rpc::peer_error);
  // A proper URL, but this process has no key, so it connects to its own host only.
  CHECK(has(thrown_by<lci::invalid_argument_error>([&] { e.client.connect("tcp://192.0.2.1:4711"); }), "says why"));
  const auto f = e.client.declare<int(int)>("f");
  CHECK(has(thrown_by<lci::invalid_argument_error>([&] { f.on(rpc::peer())(1); }), "peer is none"));
  CHECK(has(thrown_by<lci::invalid_argument_error>([&] { f.on(e.server.self())(1); }), "another engine"));
  CHECK_THROWS_AS((rpc::function<int(int)>().on(e.there)), lci::invalid_argument_error);
  CHECK_THROWS_AS(rpc::future<int>().get(), lci::invalid_argument_error);
  CHECK_THROWS_AS(rpc::handle<int>()(1), lci::invalid_argument_error);
  CHECK(has(thrown_by<lci::invalid_argument_error>([&] {
              e.client.define(
                  "g", [] { return 1; }, rpc::where::pool);
            }),
            "pool(n)"));
  e.server.define("closes", [&] { const_cast<rpc::engine&>(e.server).close(); });
  CHECK(has(thrown_by<rpc::remote_exception>([&] { e.client.declare<void()>("closes").on(e.there)(); }),
            "called in a function"));
}
