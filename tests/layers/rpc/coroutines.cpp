// Functions that are coroutines, and coroutines that await calls.
#include <functional>
#include <future>
#include <optional>

#include "lci/rpc/coroutine.hpp"
#include "tests/layers/rpc/engines.hpp"

using namespace test;

namespace {

rpc::coroutine<int> twice(rpc::function<int(int)> next, rpc::peer whom, int x) {
  const int once = co_await next.call_x(whom, x)();
  co_return co_await next.call_x(whom, once)();
}

/// A coroutine of a program: it starts at once, and its owner may destroy it while it is suspended.
class own_task {
 public:
  struct promise_type {
    own_task get_return_object() { return own_task(std::coroutine_handle<promise_type>::from_promise(*this)); }
    std::suspend_never initial_suspend() const noexcept { return {}; }
    std::suspend_always final_suspend() const noexcept { return {}; }
    void return_void() const noexcept {}
    void unhandled_exception() const noexcept { std::terminate(); }
  };
  own_task(own_task&& other) noexcept : frame_(std::exchange(other.frame_, nullptr)) {}
  own_task& operator=(own_task&&) = delete;
  ~own_task() {
    if (frame_) frame_.destroy();
  }

 private:
  explicit own_task(std::coroutine_handle<promise_type> h) : frame_(h) {}
  std::coroutine_handle<promise_type> frame_;
};

}  // namespace

TEST_CASE("coroutines and nodes that are destroyed while their calls are outstanding are not continued") {
  rpc::engine server("tcp://127.0.0.1", rpc::options());
  std::vector<rpc::handle<int>> unanswered;
  server.define("later", [&](rpc::handle<int> h) { unanswered.push_back(std::move(h)); });
  rpc::engine client("tcp://127.0.0.1", rpc::options().client());
  const rpc::peer there = [&] {
    auto connected = std::async(std::launch::async, [&] { return client.connect(server.url()); });
    while (connected.wait_for(0s) != std::future_status::ready) server.progress(1ms);
    return connected.get();
  }();
  const auto later = client.declare<int()>("later");
  int continued = 0;
  const auto await = [&](std::function<void()> then) -> own_task {
    try {
      co_await later.call_x(there)();
    } catch (const rpc::cancelled_error&) {
    }
    ++continued;
    then();
  };
  {
    const own_task destroyed = await([] {});
    const auto node = later.call_x(there).node();
    CHECK(node().is_posted());
    while (unanswered.size() < 2) server.progress(1ms);
  }
  for (auto& h : unanswered) h(1);
  for (int i = 0; i < 20; ++i) server.progress(1ms), client.progress(1ms);
  CHECK(continued == 0);
  // The end of the engine ends both calls. The coroutine that is continued first destroys the other one.
  std::optional<own_task> second;
  const own_task first = await([&] { second.reset(); });
  second.emplace(await([] {}));
  client.close();
  CHECK(continued == 1);
}

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
