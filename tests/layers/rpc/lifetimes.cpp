// The end of run(), of engines and of what refers to them, in functions that engines execute as well.
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <optional>

#include "lci/rpc/coroutine.hpp"
#include "tests/layers/rpc/engines.hpp"
#include "tests/support/testing.hpp"

using namespace test;

TEST_CASE("stop() ends run() in all threads, and the background thread goes on") {
  for (const bool has_background : {false, true}) {
    engines e(has_background ? rpc::options().background() : rpc::options());
    const auto stop = e.server.define("stop", [&] { e.server.stop(); });
    std::vector<std::future<void>> runs;
    for (int i = 0; i < 3; ++i) runs.push_back(std::async(std::launch::async, [&] { e.server.run(); }));
    std::this_thread::sleep_for(50ms);
    e.client.declare<void()>("stop").on(e.there)();
    for (auto& r : runs) REQUIRE(r.wait_for(20s) == std::future_status::ready);
    // Without a thread in run(), it ends the next one.
    e.server.stop();
    e.server.run();
    if (!has_background) continue;
    e.server.define("one", [] { return 1; });
    CHECK(e.client.declare<int()>("one").on(e.there).deadline(20s)() == 1);
  }
}

TEST_CASE("a function may use and destroy another engine") {
  const engines e;
  const std::string back_url = [&] {
    e.server.define("twice", [](int x) { return 2 * x; });
    return e.server.url();
  }();
  rpc::engine outer("self");
  const auto through = outer.define("through", [&](int x) {
    rpc::engine inner("tcp://127.0.0.1", rpc::options().client());
    const rpc::peer there = inner.connect(back_url);
    const int result = inner.declare<int(int)>("twice").on(there)(x);
    if (x == 2) inner.close();
    return result;
  });
  CHECK(through.on(outer.self())(1) == 2);
  CHECK(through.on(outer.self())(2) == 4);
}

TEST_CASE("what refers to an engine that has ended may be freed in a function of another one") {
  rpc::engine other("self");
  rpc::function<int()> last;
  const auto drop = other.define("drop", [&] { last = {}; });
  {
    rpc::engine e("self");
    last = e.define("one", [] { return 1; });
  }
  drop.on(other.self())();
  CHECK_FALSE(last);
}

TEST_CASE("a function can't close its engine, also not below another engine's function or in a resumed coroutine") {
  rpc::engine a("self"), b("self");
  const auto close_a = b.define("close a", [&] { a.close(); });
  const auto nested = a.define("nested", [&] { close_a.on(b.self())(); });
  CHECK(has(thrown_by<rpc::remote_exception>([&] { nested.on(a.self())(); }), "called in a function"));
  const auto one = a.define("one", [] { return 1; });
  const auto resumed = a.define("resumed", [&]() -> rpc::coroutine<void> {
    co_await one.call_x(a.self())();
    a.close();
  });
  CHECK(has(thrown_by<rpc::remote_exception>([&] { resumed.on(a.self())(); }), "called in a function"));
  a.close();
  CHECK_THROWS_AS(one.on(a.self())(), lci::invalid_argument_error);
}

TEST_CASE("a coroutine that the end of its engine resumes can't close the engine again") {
  rpc::engine e("self");
  std::string seen;
  rpc::handle<int> unanswered;
  const auto never = e.define("never", [&](rpc::handle<int> h) { unanswered = std::move(h); });
  const auto waits = e.define("waits", [&]() -> rpc::coroutine<void> {
    try {
      co_await never.call_x(e.self())();
    } catch (const rpc::cancelled_error&) {
      try {
        e.close();
      } catch (const lci::invalid_argument_error& thrown) {
        seen = thrown.what();
      }
    }
  });
  auto f = waits.call_x(e.self())();
  while (!unanswered) e.progress(1ms);
  e.close();
  CHECK(has(seen, "called in a function"));
}

TEST_CASE("an engine that its own function destroys ends when the function returns") {
  for (const bool has_background : {false, true}) {
    auto captured = std::make_shared<int>(5);
    auto server =
        std::make_unique<rpc::engine>("tcp://127.0.0.1", has_background ? rpc::options().background() : rpc::options());
    rpc::engine client("tcp://127.0.0.1", rpc::options().client());
    server->define("end", [captured, &server] {
      server.reset();
      return *captured;
    });
    const rpc::peer there = client.connect(server->url());
    auto call = client.declare<int()>("end").call_x(there)();
    std::thread runs([&] {
      if (!has_background) server->run();
    });
    // The answer, or the end of the connection.
    try {
      CHECK(call.get() == 5);
    } catch (const rpc::error&) {
    }
    runs.join();
    for (int i = 0; i < 2000 && captured.use_count() > 1; ++i) std::this_thread::sleep_for(10ms);
    CHECK(captured.use_count() == 1);
  }
}

TEST_CASE("an engine closes while other threads post calls with large arguments") {
  const engines e;
  e.server.define("size", [](rpc::view<char> v) { return v.size(); });
  const std::vector<char> large(40'000, 'x');
  for (int i = 0; i < 30; ++i) {
    rpc::engine client("tcp://127.0.0.1", rpc::options().client().background());
    const rpc::peer there = client.connect(e.server.url());
    const auto size = client.declare<size_t(rpc::view<char>)>("size");
    std::atomic<int> wrong{0};
    std::vector<std::thread> posts;
    for (int t = 0; t < 3; ++t)
      posts.emplace_back([&, t] {
        try {
          for (;;) {
            if (t == 0 && size.on(there)(large) != large.size()) ++wrong;
            if (t != 0) auto dropped = size.call_x(there, std::vector<char>(large)).deadline(t * 1us)();
          }
        } catch (const lci::invalid_argument_error&) {
        } catch (const rpc::cancelled_error&) {
        }
      });
    std::this_thread::sleep_for(std::chrono::milliseconds(i % 10));
    client.close();
    for (std::thread& t : posts) t.join();
    CHECK(wrong == 0);
  }
}

TEST_CASE("an engine closes while other threads free calls with large arguments") {
  rpc::handle<size_t> unanswered;  // ends after the engine, whose thread assigns it
  const engines e;
  e.server.define("size", [&](rpc::handle<size_t> h, const rpc::view<char>&) { unanswered = std::move(h); });
  const std::vector<char> large(40'000, 'x');
  constexpr int rounds = lci_test::sanitized ? 50 : 200;  // one in some hundred crashed once
  for (int i = 0; i < rounds; ++i) {
    rpc::engine client("tcp://127.0.0.1", rpc::options().client());
    const rpc::peer there = client.connect(e.server.url());
    const auto size = client.declare<size_t(rpc::view<char>)>("size");
    std::vector<std::thread> frees;
    std::atomic<int> ready{0};
    std::atomic<bool> go{false};
    for (int t = 0; t < 4; ++t)
      frees.emplace_back([&, calls = std::vector<rpc::future<size_t>>()]() mutable {
        for (int n = 0; n < 50; ++n) calls.push_back(size.call_x(there, large)());
        ++ready;
        while (!go) std::this_thread::yield();
        calls.clear();
      });
    while (ready < 4) std::this_thread::yield();
    go = true;
    client.close();
    for (std::thread& t : frees) t.join();
  }
}

TEST_CASE("an engine with a background thread closes at once") {
  auto shortest = std::chrono::steady_clock::duration::max();
  for (int i = 0; i < 5; ++i) {
    rpc::engine e("tcp://127.0.0.1", rpc::options().background());
    std::this_thread::sleep_for(5ms);  // the background thread sleeps
    const auto begin = std::chrono::steady_clock::now();
    e.close();
    shortest = std::min(shortest, std::chrono::steady_clock::now() - begin);
  }
  CHECK(shortest < 60ms);
}

TEST_CASE("an engine closes soon although a thread connects to a process that does not answer") {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  REQUIRE(bind(listener, reinterpret_cast<sockaddr*>(&at), size) == 0);
  REQUIRE(getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size) == 0);
  REQUIRE(listen(listener, 5) == 0);
  const std::string url = "tcp://127.0.0.1:" + std::to_string(ntohs(at.sin_port));
  rpc::engine e("tcp://127.0.0.1", rpc::options().client());
  auto connects = std::async(std::launch::async, [&] { CHECK_THROWS_AS(e.connect(url), rpc::cancelled_error); });
  std::this_thread::sleep_for(100ms);
  const auto begin = std::chrono::steady_clock::now();
  e.close();
  CHECK(std::chrono::steady_clock::now() - begin < 5s);
  connects.get();
  close(listener);
}

TEST_CASE("a short deadline ends a call in time although the background thread sleeps") {
  rpc::handle<int> unanswered;  // ends after the engine, whose thread assigns it
  engines e;
  e.server.define("never", [&](rpc::handle<int> h) { unanswered = std::move(h); });
  rpc::engine client("tcp://127.0.0.1", rpc::options().client().background());
  const auto never = client.declare<int()>("never");
  const rpc::peer there = client.connect(e.server.url());
  auto shortest = std::chrono::steady_clock::duration::max();
  for (int i = 0; i < 5; ++i) {
    std::this_thread::sleep_for(5ms);
    const auto begin = std::chrono::steady_clock::now();
    auto f = never.call_x(there).deadline(10ms)();
    while (!f.is_ready()) std::this_thread::sleep_for(1ms);
    shortest = std::min(shortest, std::chrono::steady_clock::now() - begin);
  }
  CHECK(shortest >= 10ms);
  CHECK(shortest < 60ms);
}

TEST_CASE("a call that is dropped, or whose deadline has passed, ends at once and has no effect on later ones") {
  engines e;
  std::promise<void> go;
  std::shared_future<void> may = go.get_future();
  e.server.define("stuck", [may] { may.wait(); });
  const auto stuck = e.client.declare<void()>("stuck");
  CHECK_THROWS_AS(stuck.on(e.there).deadline(0ms)(), rpc::timeout_error);
  CHECK_THROWS_AS(stuck.on(e.there).deadline(-5s)(), rpc::timeout_error);
  auto f = stuck.call_x(e.there).deadline(-1ns)();
  CHECK_THROWS_AS(f.get(), rpc::timeout_error);
  auto late = stuck.call_x(e.there)();
  CHECK_FALSE(late.wait_for(-1s));
  CHECK_FALSE(late.wait_for(0s));
  go.set_value();
  late.get();
}

TEST_CASE("the longest durations are no short ones") {
  engines e;
  e.server.define("slow", [](int x) {
    std::this_thread::sleep_for(20ms);
    return x;
  });
  const auto slow = e.client.declare<int(int)>("slow");
  CHECK(slow.on(e.there).deadline(std::chrono::hours::max())(1) == 1);
  CHECK(slow.on(e.there).deadline(std::chrono::nanoseconds::max())(2) == 2);
  CHECK(slow.call_x(e.there, 3).deadline(std::chrono::seconds::max())().get() == 3);
  CHECK(slow.call_x(e.there, 4).deadline(std::chrono::nanoseconds::max())().get() == 4);
  CHECK(slow.call_x(e.there, 5).deadline(std::chrono::duration<double>(1e300))().get() == 5);
  auto f = slow.call_x(e.there, 6)();
  CHECK(f.wait_for(std::chrono::nanoseconds::max()));
  auto g = slow.call_x(e.there, 7)();
  CHECK(g.wait_for(std::chrono::hours::max()));
  CHECK(e.client.progress(std::chrono::milliseconds(0)) == false);
}

TEST_CASE("arguments of a process's call to itself that has ended are not read any more") {
  rpc::engine e("self", rpc::options().background());
  const auto sum = e.define("sum", [](rpc::view<char> data) {
    long n = 0;
    for (const char c : data) n += c;
    return n;
  });
  // So large that the memory is given back to the system when the call ends. Each call ends before, while, or after it
  // is read.
  constexpr size_t size = 20 << 20;
  const auto moment = [] { return std::chrono::microseconds(rand() % 20000); };
  for (int i = 0; i < 30; ++i) {
    std::vector<char> data(size, 1);
    try {
      const long n = sum.call_x(e.self(), std::move(data)).deadline(i % 2 == 0 ? 0ms : moment())().get();
      CHECK(n == long{size});
    } catch (const rpc::timeout_error&) {
    }
    std::vector<char> mine(size, 1);
    try {
      const long n = sum.on(e.self()).deadline(moment())(mine);
      CHECK(n == long{size});
    } catch (const rpc::timeout_error&) {
    }
    std::vector<char> dropped(size, 1);
    auto f = sum.call_x(e.self(), std::move(dropped))();
    f.wait_for(moment());
  }
  CHECK(sum.on(e.self())(std::vector<char>(size, 1)) == long{size});
}
