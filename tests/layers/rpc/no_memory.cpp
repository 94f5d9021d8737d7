// Engines without memory for a while: calls end with an exception, and the engines work on when memory is back.
#include <optional>

#include "lci/rpc/coroutine.hpp"
#include "tests/layers/rpc/engines.hpp"
#include "tests/support/failing_memory.hpp"

using namespace test;

namespace {

/// Two engines with background threads, so that no thread of the test allocates memory for their work.
struct attended_engines : engines {
  rpc::engine caller{"tcp://127.0.0.1", rpc::options().client().background()};
  rpc::peer at_server = caller.connect(server.url());
};

/// Posts the call, which ends, while there is no memory. Returns its result.
template <class Call>
auto without_memory(const Call& call) {
  using future = decltype(call());
  std::optional<future> f;
  {
    const lci_test::failing_memory shortage;
    f.emplace(call());
    while (!f->is_ready()) std::this_thread::sleep_for(1ms);
  }
  return f->get();
}

}  // namespace

TEST_CASE("without memory, a server refuses calls of other types") {
  attended_engines e;
  e.server.define("length", [](const std::string& s) { return s.size(); });
  const auto wrong = e.caller.declare<int(int)>("length");
  CHECK_THROWS_AS(wrong.on(e.at_server)(1), rpc::signature_error);
  CHECK_THROWS_AS(without_memory([&] { return wrong.call_x(e.at_server, 1)(); }), rpc::memory_error);
  CHECK_THROWS_AS(wrong.on(e.at_server)(1), rpc::signature_error);
  CHECK(e.caller.declare<size_t(std::string)>("length").on(e.at_server)("abc") == 3);
}

TEST_CASE("without memory, a server refuses calls of coroutines") {
  attended_engines e;
  e.server.define("one", []() -> rpc::coroutine<int> { co_return 1; });
  const auto one = e.caller.declare<int()>("one");
  CHECK(one.on(e.at_server)() == 1);
  CHECK_THROWS_AS(without_memory([&] { return one.call_x(e.at_server)(); }), std::bad_alloc);
  CHECK(one.on(e.at_server)() == 1);
}

TEST_CASE("a transfer for which there is no memory ends with memory_error") {
  attended_engines e;
  std::vector<char> theirs(100'000, 't'), mine(100'000);
  e.server.define("memory", [&] { return e.server.expose(theirs); });
  const rpc::bulk remote = e.caller.declare<rpc::bulk()>("memory").on(e.at_server)(), local = e.caller.expose(mine);
  const auto pull = remote.pull_x(local);
  CHECK_THROWS_AS(without_memory([&] { return pull(); }), rpc::memory_error);
  pull().get();
  CHECK(mine == theirs);
}

TEST_CASE("memory is exposed, or std::bad_alloc is thrown, wherever memory for it is lacking") {
  attended_engines e;
  std::vector<char> bytes(1000);
  const auto expose = [&] { return e.caller.expose(bytes).size(); };
  CHECK(expose() == bytes.size());
  long good = 0;
  for (bool is_short = true; is_short; ++good) {
    const lci_test::failing_memory shortage(0, good, 1);
    try {
      is_short = expose() != bytes.size();
    } catch (const std::bad_alloc&) {
      static_cast<void>(0);
    }
  }
  CHECK(good > 3);
}

TEST_CASE("a bulk arrives, or std::bad_alloc is thrown, wherever memory for it is lacking") {
  attended_engines e;
  std::vector<char> theirs(1000, 't');
  const rpc::bulk exposed = e.server.expose(theirs);
  e.server.define("memory", [&] { return exposed; });
  const auto memory = e.caller.declare<rpc::bulk()>("memory");
  CHECK(memory.on(e.at_server)().size() == theirs.size());
  long good = 0;
  for (bool is_short = true; is_short; ++good) {
    auto f = memory.call_x(e.at_server)();
    f.wait();
    const lci_test::failing_memory shortage(0, good, 1);
    try {
      is_short = f.get().size() != theirs.size();
    } catch (const std::bad_alloc&) {
      static_cast<void>(0);
    }
  }
  CHECK(good > 2);
}

TEST_CASE("engines close without memory") {
  attended_engines e;
  rpc::handle<int> unanswered;
  std::atomic<bool> is_executed{false};
  e.server.define("never", [&](rpc::handle<int> h) {
    unanswered = std::move(h);
    is_executed = true;
  });
  auto f = e.caller.declare<int()>("never").call_x(e.at_server)();
  while (!is_executed) std::this_thread::yield();  // else the server may refuse the call for lack of memory
  {
    const lci_test::failing_memory shortage;
    e.caller.close();
    e.client.close();
    e.server.close();
  }
  CHECK_THROWS_AS(f.get(), rpc::cancelled_error);
}
