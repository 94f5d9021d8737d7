// Raw operations with invalid arguments: a typed error names the argument and its value, and nothing is posted.
#include "tests/conformance/raw_port.hpp"

using namespace conf;

namespace {

void expect_nothing_posted(rank_env& env, raw_port& port) {
  EXPECT(port.quiet());
  env.barrier();
  EXPECT(port.quiet());
}

}  // namespace

TEST_CASE("raw operations refuse ranks that do not exist", "[net][invalid]") {
  on_ranks([](rank_env& env) {
    raw_port port(env);
    window w(env, 64);
    const auto rt = env.rt;
    const lci::mr_t mr;
    const auto rmr = w.of(0);
    char b[8] = {};
    for (const int bad : {-1, env.size}) {
      const auto value = std::to_string(bad);
      EXPECT_INVALID(lci::net_post_sends_x(bad, b, 8).runtime(rt)(), "rank", value);
      EXPECT_INVALID(lci::net_post_send_x(bad, b, 8, mr).runtime(rt)(), "rank", value);
      EXPECT_INVALID(lci::net_post_puts_x(bad, b, 8, 0, rmr).runtime(rt)(), "rank", value);
      EXPECT_INVALID(lci::net_post_put_x(bad, b, 8, mr, 0, rmr).runtime(rt)(), "rank", value);
      EXPECT_INVALID(lci::net_post_putImms_x(bad, b, 8, 0, rmr).runtime(rt)(), "rank", value);
      EXPECT_INVALID(lci::net_post_putImm_x(bad, b, 8, mr, 0, rmr).runtime(rt)(), "rank", value);
      EXPECT_INVALID(lci::net_post_get_x(bad, b, 8, mr, 0, rmr).runtime(rt)(), "rank", value);
    }
    expect_nothing_posted(env, port);
  });
}

TEST_CASE("raw operations refuse a null buffer with a size above 0", "[net][invalid]") {
  on_ranks([](rank_env& env) {
    raw_port port(env);
    window w(env, 64);
    const auto rt = env.rt;
    const lci::mr_t mr;
    EXPECT_INVALID(lci::net_poll_cq_x(3, nullptr).runtime(rt)(), "statuses", "max_polls = 3");
    EXPECT_INVALID(lci::net_post_recv_x(nullptr, 8, mr).runtime(rt)(), "buffer", "nullptr");
    EXPECT_INVALID(lci::net_post_sends_x(0, nullptr, 8).runtime(rt)(), "buffer", "nullptr");
    EXPECT_INVALID(lci::net_post_send_x(0, nullptr, 8, mr).runtime(rt)(), "buffer", "nullptr");
    EXPECT_INVALID(lci::net_post_put_x(0, nullptr, 8, mr, 0, w.of(0)).runtime(rt)(), "buffer", "nullptr");
    EXPECT_INVALID(lci::net_post_get_x(0, nullptr, 8, mr, 0, w.of(0)).runtime(rt)(), "buffer", "nullptr");
    expect_nothing_posted(env, port);
  });
}

TEST_CASE("raw copies refuse sizes above a packet's, and name the operation that accepts them", "[net][invalid]") {
  on_ranks([](rank_env& env) {
    raw_port port(env);
    const auto rt = env.rt;
    const size_t largest = lci::get_max_bcopy_size_x().runtime(rt)();
    window w(env, largest + 64);
    const auto rmr = w.of(0);
    std::vector<char> b(largest + 1);
    const auto limit = "0.." + std::to_string(largest);
    EXPECT_INVALID(lci::net_post_sends_x(0, b.data(), b.size()).runtime(rt)(), limit, "use net_post_send,");
    EXPECT_INVALID(lci::net_post_puts_x(0, b.data(), b.size(), 0, rmr).runtime(rt)(), limit, "use net_post_put,");
    EXPECT_INVALID(lci::net_post_putImms_x(0, b.data(), b.size(), 0, rmr).runtime(rt)(), limit, "use net_post_putImm,");
    expect_nothing_posted(env, port);
    EXPECT(w.untouched_but(0, 0));
  });
}

TEST_CASE("raw puts and gets refuse memory that is not registered", "[net][invalid]") {
  on_ranks([](rank_env& env) {
    raw_port port(env);
    window w(env, 64);
    const auto rt = env.rt;
    const lci::mr_t mr;
    char b[8] = {};
    EXPECT_INVALID(lci::net_post_put_x(0, b, 8, mr, 0, lci::RMR_NULL).runtime(rt)(), "rmr", "empty");
    EXPECT_INVALID(lci::net_post_get_x(0, b, 8, mr, 0, lci::RMR_NULL).runtime(rt)(), "rmr", "empty");
    for (const uint64_t bad : {uint64_t{57}, uint64_t{64}, ~uint64_t{0}, ~uint64_t{0} - 7}) {
      const auto value = " offset = " + std::to_string(bad);
      EXPECT_INVALID(lci::net_post_puts_x(0, b, 8, bad, w.of(0)).runtime(rt)(), "puts:", value);
      EXPECT_INVALID(lci::net_post_put_x(0, b, 8, mr, bad, w.of(0)).runtime(rt)(), "put:", value);
      EXPECT_INVALID(lci::net_post_putImms_x(0, b, 8, bad, w.of(0)).runtime(rt)(), "putImms:", value);
      EXPECT_INVALID(lci::net_post_putImm_x(0, b, 8, mr, bad, w.of(0)).runtime(rt)(), "putImm:", value);
      EXPECT_INVALID(lci::net_post_get_x(0, b, 8, mr, bad, w.of(0)).runtime(rt)(), "get:", value);
    }
    // The registration of the local buffer must contain the buffer.
    char large[100];
    auto part = lci::register_memory_x(large + 10, 50).runtime(rt)();
    for (char* outside : {large, large + 55, b})
      EXPECT_INVALID(lci::net_post_put_x(0, outside, 8, part, 0, w.of(0)).runtime(rt)(), "mr", "50 bytes");
    EXPECT_INVALID(lci::net_post_recv_x(large, 100, part).runtime(rt)(), "mr", "50 bytes");
    lci::deregister_memory_x(&part).runtime(rt)();
    expect_nothing_posted(env, port);
    EXPECT(w.untouched_but(0, 0));
  });
}

TEST_CASE("raw operations refuse registrations of another device", "[net][invalid]") {
  on_ranks([](rank_env& env) {
    raw_port port(env);
    const auto rt = env.rt;
    auto second = lci::alloc_device_x().runtime(rt)();
    {
      window w(env, 64);
      char b[8] = {};
      auto mr = lci::register_memory_x(b, 8).runtime(rt)();
      EXPECT_INVALID(lci::net_post_put_x(0, b, 8, lci::mr_t(), 0, w.of(0)).runtime(rt).device(second)(), "rmr", "uid");
      EXPECT_INVALID(lci::net_post_send_x(0, b, 8, mr).runtime(rt).device(second)(), "mr", "uid");
      EXPECT_INVALID(lci::net_post_recv_x(b, 8, mr).runtime(rt).device(second)(), "mr", "uid");
      lci::deregister_memory_x(&mr).runtime(rt)();
      expect_nothing_posted(env, port);
    }
    lci::free_device_x(&second).runtime(rt)();
  });
}
