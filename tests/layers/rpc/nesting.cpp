// Functions that wait for calls of functions of the same engine.
#include <future>

#include "lci/rpc/coroutine.hpp"
#include "tests/layers/rpc/engines.hpp"

using namespace test;

namespace {

constexpr int deep = 100;  // more than the 32 that an engine nests for other calls

}  // namespace

TEST_CASE("functions of the pool wait for functions of the pool, also if all its threads do") {
  rpc::engine e("tcp://127.0.0.1", rpc::options().background().pool(2));
  const auto leaf = e.define(
      "leaf", [](int x) { return x + 1; }, rpc::where::pool);
  const auto inner = e.define(
      "inner", [&](int x) { return leaf.on(e.self())(x) + 1; }, rpc::where::pool);
  const auto outer = e.define(
      "outer", [&](int x) { return inner.on(e.self())(x) + 1; }, rpc::where::pool);
  std::vector<rpc::future<int>> calls;
  for (int i = 0; i < 20; ++i) calls.push_back(outer.call_x(e.self(), i).deadline(20s)());
  for (int i = 0; i < 20; ++i) CHECK(calls[static_cast<size_t>(i)].get() == i + 3);
}

TEST_CASE("a thread of the pool that waits is woken for a call that another thread queues") {
  rpc::engine e("self", rpc::options().pool(1));
  rpc::handle<void> unanswered;
  std::atomic<bool> waits{false}, has_run{false};
  const auto later = e.define("later", [&](rpc::handle<void> h) {
    unanswered = std::move(h);
    waits = true;
  });
  const auto wait = e.define(
      "wait", [&] { later.on(e.self())(); }, rpc::where::pool);
  const auto run = e.define(
      "run", [&] { has_run = true; }, rpc::where::pool);
  auto first = wait.call_x(e.self())();
  while (!waits) e.progress(1ms);
  run.call_x(e.self()).deadline(20s)().get();
  CHECK(has_run);
  unanswered();
  first.get();
}

TEST_CASE("functions call themselves more deeply than an engine nests other calls") {
  for (const bool has_background : {false, true}) {
    rpc::engine e("tcp://127.0.0.1", has_background ? rpc::options().background() : rpc::options());
    rpc::function<int(int)> sum;
    sum = e.define("sum", [&](int n) -> int { return n == 0 ? 0 : n + sum.on(e.self()).deadline(30s)(n - 1); });
    CHECK(sum.on(e.self()).deadline(30s)(deep) == deep * (deep + 1) / 2);
    rpc::function<int(int)> mixed;
    mixed = e.define("mixed", [&](int n) -> rpc::coroutine<int> {
      if (n == 0) co_return 0;
      if (n % 2 == 0) co_return n + co_await mixed.call_x(e.self(), n - 1)();
      co_return n + mixed.on(e.self()).deadline(30s)(n - 1);
    });
    CHECK(mixed.on(e.self()).deadline(30s)(deep) == deep * (deep + 1) / 2);
  }
}

TEST_CASE("functions of a pool call themselves more deeply than an engine nests other calls") {
  rpc::engine e("self", rpc::options().background().pool(1));
  rpc::function<int(int)> sum;
  sum = e.define(
      "sum", [&](int n) -> int { return n == 0 ? 0 : n + sum.on(e.self()).deadline(30s)(n - 1); }, rpc::where::pool);
  CHECK(sum.on(e.self()).deadline(30s)(deep) == deep * (deep + 1) / 2);
}
