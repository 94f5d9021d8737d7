// Calls of lci/rpc.hpp without arguments, for a count of instructions, as count.cpp does it for the core. Client and
// server are two engines of one process, which reach each other through shared memory as two processes do. One thread
// uses both.
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "lci/rpc.hpp"

#define PART extern "C" __attribute__((noinline, used)) void

namespace {

namespace rpc = lci::rpc;

constexpr int calls_at_once = 16;

struct two_engines {
  rpc::engine server{"shm://"};
  rpc::engine client{"shm://", rpc::options().client()};
  rpc::peer there;
  rpc::function<void()> null;
  std::vector<rpc::future<void>> outstanding;
  int executed = 0;
};

[[noreturn]] void stop_with(const char* what) {
  std::fprintf(stderr, "count_rpc: %s\n", what);
  std::exit(1);
}

}  // namespace

// Each part is one call of the library, n times.

PART part_rpc_post(two_engines& e, int n) {
  for (int i = 0; i < n; ++i) e.outstanding.push_back(e.null.call_x(e.there)());
}
PART part_rpc_serve(two_engines& e, int until) {
  while (e.executed != until) e.server.progress();
}
PART part_rpc_serve_16(two_engines& e, int until) {
  while (e.executed != until) e.server.progress();
}
PART part_rpc_take_result(two_engines& e, int n) {
  for (int i = 0; i < n; ++i) e.outstanding[static_cast<size_t>(i)].get();
}
PART part_rpc_idle(two_engines& e) { e.server.progress(); }

namespace {

void call_together(two_engines& e, int n) {
  const int until = e.executed + n;
  part_rpc_post(e, n);
  n == 1 ? part_rpc_serve(e, until) : part_rpc_serve_16(e, until);
  part_rpc_take_result(e, n);
  e.outstanding.clear();
}

}  // namespace

int main(int argc, char** argv) {
  const int turns = argc == 2 ? std::atoi(argv[1]) : 0;
  if (turns <= 0) stop_with("usage: count_rpc TURNS (a turn is 16 calls one by one, and 16 at once)");
  two_engines e;
  e.outstanding.reserve(calls_at_once);
  e.server.define("null", [&e] { ++e.executed; });
  e.there = e.client.connect(e.server.url());
  e.null = e.client.declare<void()>("null");
  for (int i = 0; i < turns; ++i) {
    for (int k = 0; k < calls_at_once; ++k) call_together(e, 1);
    for (int k = 0; k < calls_at_once; ++k) part_rpc_idle(e);
    call_together(e, calls_at_once);
  }
  return 0;
}
