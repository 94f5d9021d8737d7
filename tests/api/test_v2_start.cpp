// Start and end of published programs: as a single process, and as ranks of a job.
#include <catch2/catch.hpp>

#include <chrono>
#include <lci.hpp>
#include <thread>

namespace {

/// A barrier over the default runtime: all ranks are connected.
void meet() { lci::barrier(); }

/// Long enough for the other rank to do something first. A test that needs the order would otherwise test nothing.
void let_the_other_rank_act() { std::this_thread::sleep_for(std::chrono::milliseconds(200)); }

bool valid_ranks() {
  return lci::get_rank_me() >= 0 && lci::get_rank_n() >= 1 && lci::get_rank_me() < lci::get_rank_n();
}

}  // namespace

TEST_CASE("global_initialize gives rank and size, and no runtime") {
  REQUIRE(lci::get_rank_me() == -1);
  lci::global_initialize();
  CHECK(valid_ranks());
  CHECK(lci::get_g_runtime().is_empty());
  lci::global_initialize();
  lci::global_finalize();
  CHECK(valid_ranks());
  lci::global_finalize();
  CHECK(lci::get_rank_me() == -1);
  CHECK(lci::get_rank_n() == -1);
}

TEST_CASE("attributes that are set between global_initialize and g_runtime_init take effect") {
  lci::global_initialize();
  const lci::global_attr_t before = lci::get_g_default_attr();
  lci::global_attr_t attr = before;
  attr.npackets = 1024;
  attr.alloc_default_device = false;
  lci::set_g_default_attr(attr);
  lci::g_runtime_init();
  CHECK(lci::get_default_device().is_empty());
  CHECK(lci::get_default_packet_pool().get_attr_npackets() == 1024);
  lci::set_g_default_attr(before);
  lci::g_runtime_fina();
  lci::global_finalize();
}

TEST_CASE("a runtime without a default device, with devices of the program") {
  lci::global_initialize();
  const int rank = lci::get_rank_me();
  lci::g_runtime_init_x().alloc_default_device(false)();
  lci::device_t device = lci::alloc_device();
  CHECK(lci::get_rank_me() == rank);
  lci::barrier_x().device(device)();
  lci::free_device(&device);
  lci::g_runtime_fina();
  CHECK(lci::get_g_runtime().is_empty());
  CHECK(lci::get_rank_me() == rank);  // until the last global_finalize
  CHECK(valid_ranks());
  lci::global_finalize();
  CHECK(lci::get_rank_me() == -1);
}

TEST_CASE("g_runtime_init may be called without global_initialize, and twice") {
  const lci::runtime_t runtime = lci::g_runtime_init();
  CHECK(valid_ranks());
  CHECK(lci::g_runtime_init() == runtime);  // with a warning
  meet();
  lci::g_runtime_fina();
  CHECK(lci::get_g_runtime() == runtime);
  meet();
  lci::g_runtime_fina();
  CHECK(lci::get_g_runtime().is_empty());
  CHECK(lci::get_rank_me() == -1);
}

TEST_CASE("a message right after the start arrives although its sender then waits in a collective allocation") {
  for (int i = 0; i < 20; ++i) {
    lci::g_runtime_init();
    const int n = lci::get_rank_n(), me = lci::get_rank_me();
    int out = me, in = -1;
    lci::comp_t sync = lci::alloc_sync();
    const auto got = lci::post_recv((me + n - 1) % n, &in, sizeof in, 1, sync);
    CHECK(lci::post_send((me + 1) % n, &out, sizeof out, 1, lci::COMP_NULL).is_done());
    if (got.is_posted()) lci::sync_wait(sync, nullptr);
    CHECK(in == (me + n - 1) % n);
    lci::net_context_t context = lci::alloc_net_context();
    lci::free_net_context(&context);
    lci::free_comp(&sync);
    meet();
    lci::g_runtime_fina();
  }
}

TEST_CASE("messages that wait for room arrive although their sender waits in a collective allocation") {
  lci::g_runtime_init();
  meet();
  if (lci::get_rank_n() > 1 && lci::get_rank_me() == 0) {
    char out[1024] = {};
    // The target receives none of them meanwhile.
    while (lci::post_send(1, out, sizeof out, 1, lci::COMP_NULL).error != lci::errorcode_t::done_backlog) continue;
    out[0] = 1;
    CHECK(lci::post_send(1, out, sizeof out, 1, lci::COMP_NULL).error == lci::errorcode_t::done_backlog);
  } else if (lci::get_rank_me() == 1) {
    let_the_other_rank_act();
    for (char in[1024] = {}; in[0] == 0;) lci::post_recv(0, in, sizeof in, 1, lci::COMP_NULL);
  }
  lci::net_context_t context = lci::alloc_net_context();
  lci::free_net_context(&context);
  meet();
  lci::g_runtime_fina();
}

TEST_CASE("a post to a rank that has not made its device yet returns at once") {
  lci::g_runtime_init();
  meet();
  const int me = lci::get_rank_me(), n = lci::get_rank_n();
  if (me == 1) let_the_other_rank_act();
  lci::device_t device = lci::alloc_device();
  static int calls;
  calls = 0;
  lci::comp_t handler = lci::alloc_handler([](lci::status_t) { ++calls; });
  const lci::rcomp_t rcomp = lci::register_rcomp(handler);
  int out = 1, in = 0;
  if (me == 0) {
    lci::post_am_x(0, &out, sizeof out, lci::COMP_NULL, rcomp).device(device)();
    CHECK(lci::post_send_x((me + 1) % n, &out, sizeof out, 1, lci::COMP_NULL).device(device)().is_done());
    CHECK(calls == 0);  // a post that waited would make progress, which calls the handler
  }
  if (me == 1 % n) lci::post_recv_x(0, &in, sizeof in, 1, lci::COMP_NULL).device(device)();
  CHECK(in == (me == 1 % n ? 1 : 0));
  lci::barrier_x().device(device)();
  while (me == 0 && calls == 0) lci::progress_x().device(device)();
  lci::free_device(&device);
  lci::deregister_rcomp(rcomp);
  lci::free_comp(&handler);
  meet();
  lci::g_runtime_fina();
}

TEST_CASE("a global_finalize without global_initialize does nothing, whatever runtimes there are") {
  lci::g_runtime_init();
  const int rank = lci::get_rank_me();
  lci::global_finalize();
  CHECK(lci::get_rank_me() == rank);
  lci::global_initialize();
  meet();
  lci::g_runtime_fina();
  CHECK(lci::get_rank_me() == rank);  // of global_initialize
  lci::global_finalize();
  CHECK(lci::get_rank_me() == -1);
  lci::global_finalize();
  lci::global_initialize();
  CHECK(lci::get_rank_me() == rank);
  lci::global_finalize();
  CHECK(lci::get_rank_me() == -1);
}

TEST_CASE("global_initialize may be followed by a runtime of the program") {
  lci::global_initialize();
  lci::runtime_t runtime = lci::alloc_runtime();
  CHECK(lci::get_g_runtime().is_empty());
  CHECK(lci::get_rank_me() == lci::get_rank_me_x().runtime(runtime)());
  lci::barrier_x().runtime(runtime)();
  lci::free_runtime(&runtime);
  CHECK(valid_ranks());
  lci::global_finalize();
}
