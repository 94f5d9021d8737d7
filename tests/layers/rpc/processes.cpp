// Processes that call each other, and that die: waiting calls throw, and other processes are not affected.
#include <csignal>
#include <fstream>
#include <thread>

#include "lci/rpc.hpp"
#include "tests/layers/na/processes.hpp"
#include "tests/layers/rpc/throws.hpp"

namespace {

using namespace test;
using namespace std::chrono_literals;
namespace rpc = lci::rpc;

int serve(const std::string& url) {
  const rpc::engine e(url);
  e.define("twice", [](int x) { return 2 * x; });
  e.define("echo", [](std::string s) { return s; });
  int counted = 0;
  e.define("count", [&counted] { ++counted; });
  e.define("counted", [&counted] { return counted; });
  e.define("die", [] { kill(getpid(), SIGKILL); });
  e.define("sleep", [](int ms) { usleep(static_cast<useconds_t>(ms) * 1000); });
  e.define("end", [&e] { e.stop(); });
  std::vector<char> memory(1 << 20);
  e.define("memory", [&e, &memory] { return e.expose(memory); });
  e.define("call", [&e](int x, const std::string& who) { return e.declare<int(int)>("twice").on(e.connect(who))(x); });
  std::vector<std::unique_ptr<rpc::handle<int>>> kept;
  e.define("never", [&kept](rpc::handle<int> h) { kept.push_back(std::make_unique<rpc::handle<int>>(std::move(h))); });
  e.define("pull", [](const rpc::bulk& b) {
    std::string s(b.size(), 0);
    b.pull_x(s)().get();
    return s.size();
  });
  say(e.url());
  e.run();
  return 0;
}

/// Executes one call for ever, in a pool, while further ones arrive.
int serve_slowly() {
  const rpc::engine e("tcp://127.0.0.1", rpc::options().background().pool(1));
  e.define(
      "slow", [](const std::string&) { pause(); }, rpc::where::pool);
  say(e.url());
  for (;;) pause();
}

struct client {
  client() : e("tcp://127.0.0.1", rpc::options().client()) {}
  rpc::engine e;
  rpc::function<int(int)> twice = e.declare<int(int)>("twice");
  rpc::function<std::string(std::string)> echo = e.declare<std::string(std::string)>("echo");
  rpc::function<void()> die = e.declare<void()>("die"), end = e.declare<void()>("end");
  rpc::function<int()> never = e.declare<int()>("never");
};

int call_often(const std::string& name) {
  const client c;
  const rpc::peer server = c.e.connect(name);
  for (int i = 0; i < 2000; ++i) REQUIRE(c.twice.on(server)(i) == 2 * i);
  const std::string large(300000, 'x');
  for (int i = 0; i < 20; ++i) REQUIRE(c.echo.on(server)(large) == large);
  return 0;
}

/// Never ends by itself.
int call_for_ever(const std::string& name, const std::string& what) {
  const client c;
  const rpc::peer server = c.e.connect(name);
  const auto much = c.e.declare<std::string()>("much");
  if (what != "much") REQUIRE(c.twice.on(server)(1) == 2);
  say("ready");
  std::string large(16 << 20, 'x');
  const auto pull = c.e.declare<size_t(rpc::bulk)>("pull");
  for (;;) {
    if (what == "large") REQUIRE(c.echo.on(server)(large).size() == large.size());
    if (what == "bulk") REQUIRE(pull.on(server)(c.e.expose(large)) == large.size());
    if (what == "never") c.never.on(server)();
    if (what == "much") REQUIRE(much.on(server)().size() == 32 << 20);
  }
}

void a_server_that_dies() {
  const client c;
  for (const bool is_large : {false, true}) {
    process server({"serve", "tcp://127.0.0.1"});
    const rpc::peer there = c.e.connect(server.line());
    // Calls before, during and after the death of the server.
    auto waiting = c.never.call_x(there)();
    auto limited = c.never.call_x(there).deadline(30s)();
    auto large = c.echo.call_x(there, std::string(is_large ? 32 << 20 : 1, 'x'))();
    const double begin = now();
    REQUIRE(throws<rpc::peer_error>([&] { c.die.on(there)(); }));
    REQUIRE(throws<rpc::peer_error>([&] { waiting.get(); }));
    REQUIRE(throws<rpc::peer_error>([&] { limited.get(); }));
    try {
      large.get();
    } catch (const rpc::peer_error&) {
    }
    REQUIRE(throws<rpc::peer_error>([&] { c.twice.on(there)(1); }));
    REQUIRE(throws<rpc::peer_error>([&] { c.twice.call_x(there, 1)().get(); }));
    REQUIRE(now() - begin < 20);
    REQUIRE(server.wait() == 1000 + SIGKILL);
  }
}

void clients_that_die_disturb_nobody() {
  process server({"serve", "tcp://127.0.0.1"});
  const std::string name = server.line();
  const client c;
  const rpc::peer there = c.e.connect(name);
  for (const char* what : {"large", "bulk", "never", "large", "bulk"}) {
    process victim({"for_ever", name, what});
    REQUIRE(victim.line() == "ready");
    usleep(30000);
    victim.kill(SIGKILL);
    for (int i = 0; i < 100; ++i) REQUIRE(c.twice.on(there)(i) == 2 * i);
  }
  c.end.on(there)();
  REQUIRE(server.wait() == 0);
}

/// Calls as often as the server accepts, with as many bytes, and leaves.
int call_and_leave(const std::string& name, size_t size) {
  const client c;
  const rpc::peer server = c.e.connect(name);
  const auto slow = c.e.declare<void(std::string)>("slow");
  const std::string text(size, 'l');
  std::vector<rpc::future<void>> calls;
  for (int i = 0; i < 4096; ++i) calls.push_back(slow.call_x(server, text)());
  REQUIRE(throws<rpc::timeout_error>([&] { slow.call_x(server, text).deadline(500ms)().get(); }));
  return 0;
}

void clients_that_leave_their_calls() {
  process server({"slow"});
  const std::string name = server.line();
  const auto resident_kib = [&] {
    std::ifstream status("/proc/" + std::to_string(server.pid()) + "/status");
    for (std::string line; std::getline(status, line);)
      if (line.rfind("VmRSS:", 0) == 0) return std::strtoull(line.c_str() + 6, nullptr, 10);
    return 0ull;
  };
  const unsigned long long before = resident_kib();
  for (const char* size : {"3000", "3000", "20000", "3000", "3000"})
    REQUIRE(process({"leave", name, size}).wait() == 0);
  const unsigned long long after = resident_kib();
  std::fprintf(stderr, "calls of clients that have left: %llu to %llu KiB\n", before, after);
  // Calls of clients that have left, and those of the last one; their buffers are reused.
  if (std::getenv("LCI_TEST_SANITIZER") == nullptr)
    REQUIRE(after < before + 2 * 4096 * 9 + 20000 * 4096 / 1024 + 16384);
}

void a_server_that_does_not_answer() {
  process server({"serve", "tcp://127.0.0.1"});
  const client c;
  const rpc::peer there = c.e.connect(server.line());
  REQUIRE(c.twice.on(there)(4) == 8);
  server.kill(SIGSTOP);
  const double begin = now();
  REQUIRE(throws<rpc::timeout_error>([&] { c.twice.on(there).deadline(200ms)(1); }));
  REQUIRE(throws<rpc::timeout_error>([&] { c.echo.on(there).deadline(200ms)(std::string(100000, 'x')); }));
  REQUIRE(throws<rpc::timeout_error>([&] { c.twice.call_x(there, 1).deadline(200ms)().get(); }));
  REQUIRE(now() - begin < 10);
  server.kill(SIGCONT);
  REQUIRE(c.twice.on(there)(5) == 10);
  c.end.on(there)();
  REQUIRE(server.wait() == 0);
}

/// Calls whose deadline passes while they wait for a busy server are not sent later.
void calls_that_wait_too_long() {
  setenv("NA_CALLS_PER_PEER", "1", 1);
  process server({"serve", "tcp://127.0.0.1"});
  unsetenv("NA_CALLS_PER_PEER");
  rpc::engine e("tcp://127.0.0.1", rpc::options().client().background());
  const rpc::peer there = e.connect(server.line());
  const auto count = e.declare<void()>("count");
  const auto sleeps = e.declare<void(int)>("sleep").call_x(there, 3000)();
  for (const double end = now() + 1.5; now() < end;) {
    const auto f = count.call_x(there).deadline(0ms)();
    while (!f.is_ready()) std::this_thread::yield();
  }
  const bool was_busy = !sleeps.is_ready();  // else this process has been stopped for long
  const int counted = e.declare<int()>("counted").on(there)();
  REQUIRE(counted == 0 || !was_busy);
  e.declare<void()>("end").on(there)();
  REQUIRE(server.wait() == 0);
}

/// An engine closes although a peer that has stopped answers none of its transfers, and reads no result. The network no
/// longer accesses their memory then.
void engines_close_beside_a_peer_that_has_stopped() {
  setenv("LCI_ATTR_BACKEND", "tcp", 1);  // in shared memory, transfers do not need the peer
  process server({"serve", "tcp://127.0.0.1"});
  const std::string name = server.line();
  {
    rpc::engine closed("tcp://127.0.0.1", rpc::options().background());
    closed.define("much", [] { return std::string(32 << 20, 'm'); });
    const rpc::peer there = closed.connect(name);
    const rpc::bulk theirs = closed.declare<rpc::bulk()>("memory").on(there)();
    process reader({"for_ever", closed.url(), "much"});
    REQUIRE(reader.line() == "ready");
    server.kill(SIGSTOP);
    reader.kill(SIGSTOP);
    auto memory = std::make_unique<std::vector<char>>(1 << 20);
    auto transfer = theirs.pull_x(*memory)();
    REQUIRE(!transfer.wait_for(100ms));
    const double begin = now();
    closed.close();
    REQUIRE(now() - begin < 18);
    memory.reset();
    server.kill(SIGCONT);
    REQUIRE(throws<rpc::error>([&] { transfer.get(); }));
  }
  const client c;
  c.end.on(c.e.connect(name))();
  REQUIRE(server.wait() == 0);
  unsetenv("LCI_ATTR_BACKEND");
}

void servers_that_call_servers() {
  process first({"serve", "tcp://127.0.0.1"}), second({"serve", "shm://"});
  const std::string a = first.line(), b = second.line();
  const client c;
  const rpc::peer at_a = c.e.connect(a), at_b = c.e.connect(b);
  const auto call = c.e.declare<int(int, std::string)>("call");
  // Each server's thread waits for a call to the other server, and executes functions meanwhile.
  std::vector<rpc::future<int>> futures;
  for (int i = 0; i < 20; ++i) {
    futures.push_back(call.call_x(at_a, i, b)());
    futures.push_back(call.call_x(at_b, i, a)());
  }
  for (int i = 0; i < 40; ++i) REQUIRE(futures[static_cast<size_t>(i)].get() == i / 2 * 2);
  REQUIRE(throws<rpc::remote_exception>([&] { call.on(at_a)(1, "tcp://127.0.0.1:1"); }));
  c.end.on(at_a)();
  c.end.on(at_b)();
  REQUIRE(first.wait() == 0 && second.wait() == 0);
}

}  // namespace

int main(int argc, char** argv) {
  const std::string role = argc > 1 ? argv[1] : "";
  if (role == "serve") return serve(argv[2]);
  if (role == "slow") return serve_slowly();
  if (role == "leave") return call_and_leave(argv[2], std::stoul(argv[3]));
  if (role == "often") return call_often(argv[2]);
  if (role == "for_ever") return call_for_ever(argv[2], argv[3]);
  {
    process server({"serve", "tcp://127.0.0.1"});
    const std::string name = server.line();
    REQUIRE(!name.empty());
    process a({"often", name}), b({"often", name});
    REQUIRE(a.wait() == 0 && b.wait() == 0);
    const client c;
    c.end.on(c.e.connect(name))();
    REQUIRE(server.wait() == 0);
  }
  a_server_that_dies();
  clients_that_die_disturb_nobody();
  clients_that_leave_their_calls();
  a_server_that_does_not_answer();
  calls_that_wait_too_long();
  engines_close_beside_a_peer_that_has_stopped();
  servers_that_call_servers();
  return 0;
}
