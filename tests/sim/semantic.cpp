// What the completion of a send means.
#include <catch2/catch.hpp>
#include <vector>

#include "lci.hpp"
#include "lib/core/memory/packet_pool.hpp"
#include "tests/sim/sim_runtime.hpp"

namespace {

/// Sends five messages to the same rank over a slow network that refuses often. Returns how many were done when
/// their post returned, before any completion of the network.
int ends_at_once(lci::comp_semantic_t semantic, bool allow_retry, uint64_t seed) {
  const lci::global_attr_t before = lci::get_g_default_attr();
  lci::global_attr_t attr = before;
  attr.backend = lci::attr_backend_t::sim;
  attr.sim_seed = seed;
  attr.sim_max_delay = 40;
  attr.sim_retry_percent = 50;
  lci::set_g_default_attr(attr);
  auto rt = lci::alloc_runtime();
  lci::set_g_default_attr(before);
  auto counter = lci::alloc_counter_x().runtime(rt)();
  const auto rcomp = lci::register_rcomp_x(counter).runtime(rt)();
  auto sync = lci::alloc_sync_x().runtime(rt)();
  const auto progress = [&] { lci::progress_x().runtime(rt)(); };
  int at_once = 0;
  int64_t posts = 0;
  for (const size_t size : {size_t{1}, size_t{100}, size_t{3000}, size_t{100}, size_t{1}}) {
    std::vector<char> out(size, 'x');
    const auto post =
        lci::post_am_x(0, out.data(), size, sync, rcomp).comp_semantic(semantic).allow_retry(allow_retry).runtime(rt);
    lci::status_t s = post();
    for (; s.is_retry(); s = post()) progress();
    ++posts;
    at_once += s.is_done();
    while (!s.is_done() && !lci::sync_test_x(sync, &s).runtime(rt)()) progress();
    CHECK(s.is_done());
    while (!(lci::test_drained_x().runtime(rt)().is_done() && lci::counter_get_x(counter).runtime(rt)() == posts))
      progress();
  }
  lci::free_comp_x(&sync).runtime(rt)();
  lci::free_comp_x(&counter).runtime(rt)();
  lci::free_runtime(&rt);
  return at_once;
}

}  // namespace

TEST_CASE("a put or get that the target refuses ends as failed, for any number of outstanding pieces") {
  const lci::global_attr_t before = lci::get_g_default_attr();
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    lci::global_attr_t attr = before;
    attr.backend = lci::attr_backend_t::sim;
    attr.sim_seed = seed;
    attr.sim_ranks = 2;
    attr.sim_rma = false;
    attr.sim_retry_percent = 60;
    attr.sim_max_delay = 1;  // answers arrive before all pieces are posted
    attr.packet_size = 1024;
    lci::set_g_default_attr(attr);
    auto rt = lci::alloc_runtime(), target = lci::alloc_runtime();
    lci::set_g_default_attr(before);
    std::vector<char> memory(100'000), buffer(memory.size());
    auto mr = lci::register_memory_x(memory.data(), memory.size()).runtime(target)();
    const auto rmr = lci::get_rmr_x(mr).runtime(target)();
    lci::deregister_memory_x(&mr).runtime(target)();
    auto sync = lci::alloc_sync_x().threshold(2).runtime(rt)();
    lci::post_put_x(1, buffer.data(), buffer.size(), sync, 0, rmr).allow_retry(false).runtime(rt)();
    lci::post_get_x(1, buffer.data(), buffer.size(), sync, 0, rmr).allow_retry(false).runtime(rt)();
    lci::status_t ends[2];
    bool ended = false;
    for (int i = 0; i < 100'000 && !ended; ++i) {
      lci::progress_x().runtime(rt)();
      lci::progress_x().runtime(target)();
      ended = lci::sync_test_x(sync, ends).runtime(rt)();
    }
    REQUIRE(ended);
    for (const auto& s : ends) CHECK(s.error.errorcode == lci::errorcode_t::fatal);
    CHECK(lci::test_drained_x().runtime(rt)().is_done());
    lci::free_comp_x(&sync).runtime(rt)();
    lci::free_runtime(&rt);
    lci::free_runtime(&target);
  }
}

TEST_CASE("a send with comp_semantic network ends when the network reports its completion") {
  using semantic = lci::comp_semantic_t;
  int copied = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed)
    for (const bool allow_retry : {true, false}) {
      copied += ends_at_once(semantic::memory, allow_retry, seed);
      CHECK(ends_at_once(semantic::network, allow_retry, seed) == 0);
    }
  CHECK(copied > 50);  // with comp_semantic memory a copy is enough
}

TEST_CASE("a packet returns to its pool although a handler throws in the post of its message") {
  struct thrown_by_handler {};
  auto rt = sim_test::over_sim();
  auto counter = lci::alloc_counter_x().runtime(rt)();
  const auto rcomp = lci::register_rcomp_x(counter).runtime(rt)();
  auto handler = lci::alloc_handler_x([](lci::status_t) { throw thrown_by_handler(); }).runtime(rt)();
  const auto progress = [&] {
    try {
      lci::progress_x().runtime(rt)();
    } catch (const thrown_by_handler&) {
      // The network has reported the completion later.
    }
  };
  const lci::core::packet_pool& pool = *lci::get_default_packet_pool_x().runtime(rt)().p_impl;
  const size_t home = pool.home();
  int thrown = 0;
  int64_t sent = 0;
  for (; sent < 200; ++sent) {
    void* const packet = lci::get_upacket_x().runtime(rt)();
    REQUIRE(packet != nullptr);
    const auto post = lci::post_am_x(0, packet, 700, handler, rcomp)
                          .comp_semantic(lci::comp_semantic_t::network)
                          .allow_done(false)
                          .runtime(rt);
    try {
      while (post().is_retry()) progress();
    } catch (const thrown_by_handler&) {
      ++thrown;
    }
    while (!lci::test_drained_x().runtime(rt)().is_done()) progress();
  }
  while (lci::counter_get_x(counter).runtime(rt)() < sent) progress();
  CHECK(thrown > 0);
  CHECK(pool.home() == home);
  lci::deregister_rcomp_x(rcomp).runtime(rt)();
  lci::free_comp_x(&handler).runtime(rt)();
  lci::free_comp_x(&counter).runtime(rt)();
  lci::free_runtime(&rt);
}
