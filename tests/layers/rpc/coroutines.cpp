// Functions that are coroutines, and coroutines that await calls.
#include "lci/rpc/coroutine.hpp"
#include "tests/layers/rpc/engines.hpp"

using namespace test;

namespace {

rpc::coroutine<int> twice(rpc::function<int(int)> next, rpc::peer whom, int x) {
  const int once = co_await next.call_x(whom, x)();
  co_return co_await next.call_x(whom, once)();
}

}  // namespace

TEST_CASE("a function that is a coroutine awaits calls, and its engine serves others meanwhile") {
  rpc::engine back("tcp://127.0.0.1", rpc::options());  // this test makes progress on it, with a delay
  const engines e;
  back.define("next", [](int x) { return x + 1; });
  const rpc::peer at_back = e.server.connect(back.url());
  const auto next = e.server.declare<int(int)>("next");
  e.server.define("sum", [&](const std::string& text, rpc::view<int> numbers) -> rpc::coroutine<std::string> {
    int sum = 0;
    for (const int x : numbers) sum += co_await twice(next, at_back, x);
    co_return text + std::to_string(sum);
  });
  e.server.define("ping", [] { return 1; });
  auto f = e.client.declare<std::string(std::string, rpc::view<int>)>("sum").call_x(e.there, "= ",
                                                                                    std::vector<int>{1, 2, 3})();
  CHECK(e.client.declare<int()>("ping").on(e.there)() == 1);
  CHECK_FALSE(f.is_ready());
  while (!f.wait_for(1ms)) back.progress(1ms);
  CHECK(f.get() == "= 12");
}

TEST_CASE("exceptions of coroutines, and of calls that they await, reach the caller") {
  const engines e;
  e.server.define("fails", [](int x) -> rpc::coroutine<int> {
    if (x == 1) throw std::out_of_range("one");
    co_return x;
  });
  const auto again = e.server.define("again", [&](int x) -> rpc::coroutine<int> {
    const auto fails = e.server.declare<int(int)>("fails");
    co_return co_await fails.call_x(e.server.self(), x)();
  });
  const auto call = e.client.declare<int(int)>("again");
  CHECK(call.on(e.there)(5) == 5);
  CHECK(thrown_by<std::out_of_range>([&] { call.on(e.there)(1); }) == "one");
  e.server.define("nothing", [](const rpc::context& c) -> rpc::coroutine<void> {
    REQUIRE(c.caller());
    co_return;
  });
  e.client.declare<void()>("nothing").on(e.there)();
}

TEST_CASE("a task of the core awaits calls, and its scheduler resumes it") {
  rpc::engine server("tcp://127.0.0.1", rpc::options().background());
  rpc::engine client("tcp://127.0.0.1", rpc::options().client().background());
  server.define("next", [](int x) { return x + 1; });
  const rpc::peer there = client.connect(server.url());
  const auto next = client.declare<int(int)>("next");
  lci::g_runtime_init();
  {
    lci::scheduler scheduler;
    int result = 0;
    const std::thread::id here = std::this_thread::get_id();
    bool is_here = true;
    const auto run = [&]() -> lci::task<void> {
      for (int i = 0; i < 100; ++i) {
        result = co_await next.call_x(there, result)();
        is_here = is_here && std::this_thread::get_id() == here;
      }
    };
    scheduler.run(run());
    CHECK(result == 100);
    CHECK(is_here);
  }
  lci::g_runtime_fina();
}

TEST_CASE("a coroutine that ends after its engine has closed still uses what its function has captured") {
  rpc::engine other("self", rpc::options());  // no thread makes progress on it but this one
  rpc::handle<int> unanswered;
  const auto wait = other.define("wait", [&](rpc::handle<int> h) { unanswered = std::move(h); });
  std::string seen;
  {
    const rpc::engine e("self");
    e.define("ends late", [&, wait, text = std::string(100, 'x')]() -> rpc::coroutine<void> {
      const int x = co_await wait.call_x(other.self())();
      seen = text + std::to_string(x);
    });
    auto call = e.declare<void()>("ends late").call_x(e.self())();
    e.progress(1ms);
    other.progress(1ms);
    REQUIRE(unanswered);
  }
  unanswered(5);
  while (seen.empty()) other.progress(1ms);
  CHECK(seen == std::string(100, 'x') + "5");
}
