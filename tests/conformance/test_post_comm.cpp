// post_comm: each row of the paper's Table 1 (direction x remote buffer x remote completion).
#include "tests/conformance/inbox.hpp"
#include "tests/conformance/window.hpp"

using namespace conf;
using lci::direction_t;

TEST_CASE("post_comm does what its direction, remote buffer and remote completion say", "[post_comm]") {
  const size_t size = GENERATE(size_t{8}, size_t{4000}, size_t{150'000});
  INFO(size << " bytes");
  on_ranks([size](rank_env& env) {
    window w(env, size);
    inbox arrivals(env, inbox_kind::queue_lcrq, 1);
    inbox signals(env, inbox_kind::queue_lcrq, 1, false);
    const auto am = env.all_gather(arrivals.rcomp())[static_cast<size_t>(env.right())];
    const auto signal = env.all_gather(signals.rcomp())[static_cast<size_t>(env.right())];
    auto out = message(size, static_cast<uint64_t>(env.rank));
    const auto from_left = message(size, static_cast<uint64_t>(env.left()));
    const auto from_right = message(size, static_cast<uint64_t>(env.right()));
    std::vector<char> in(size);
    auto sync = lci::alloc_sync_x().runtime(env.rt)();
    auto sync2 = lci::alloc_sync_x().runtime(env.rt)();

    {  // IN, none, none: receive; OUT, none, none: send
      auto r = env.post([&] {
        return lci::post_comm_x(direction_t::IN, env.left(), in.data(), size, sync).tag(9).runtime(env.rt)();
      });
      auto s = env.post([&] {
        return lci::post_comm_x(direction_t::OUT, env.right(), out.data(), size, sync2).tag(9).runtime(env.rt)();
      });
      EXPECT_EQ(finished(env, sync, r).rank, env.left());
      EXPECT_EQ(finished(env, sync2, s).rank, env.right());
      EXPECT(in == from_left);
    }
    {  // OUT, none, specified: active message
      const auto s = env.post([&] {
        return lci::post_comm_x(direction_t::OUT, env.right(), out.data(), size, sync)
            .remote_comp(am)
            .tag(9)
            .runtime(env.rt)();
      });
      const auto a = arrivals.collect().front();
      EXPECT_EQ(a.status.tag, lci::tag_t{9});
      EXPECT(a.data == std::string(from_left.data(), size));
      finished(env, sync, s);
    }
    {  // OUT, specified, none: put
      finished(env, sync, env.post([&] {
        return lci::post_comm_x(direction_t::OUT, env.right(), out.data(), size, sync)
            .rmr(w.of(env.right()))
            .comp_semantic(lci::comp_semantic_t::remote)
            .runtime(env.rt)();
      }));
      env.barrier();
      EXPECT(std::memcmp(w.data(), from_left.data(), size) == 0);
      w.clear();
      env.barrier();
    }
    {  // OUT, specified, specified: put with signal
      finished(env, sync, env.post([&] {
        return lci::post_comm_x(direction_t::OUT, env.right(), out.data(), size, sync)
            .rmr(w.of(env.right()))
            .remote_comp(signal)
            .tag(4)
            .runtime(env.rt)();
      }));
      EXPECT_EQ(signals.collect().front().status.tag, lci::tag_t{4});
      EXPECT(std::memcmp(w.data(), from_left.data(), size) == 0);
    }
    env.barrier();
    std::memcpy(w.data(), out.data(), size);
    env.barrier();
    {  // IN, specified, none: get; IN, specified, specified: get with signal
      in.assign(size, 0);
      finished(env, sync, env.post([&] {
        return lci::post_comm_x(direction_t::IN, env.right(), in.data(), size, sync)
            .rmr(w.of(env.right()))
            .runtime(env.rt)();
      }));
      EXPECT(in == from_right);
      in.assign(size, 0);
      finished(env, sync, env.post([&] {
        return lci::post_comm_x(direction_t::IN, env.right(), in.data(), size, sync)
            .rmr(w.of(env.right()))
            .remote_comp(signal)
            .tag(6)
            .runtime(env.rt)();
      }));
      EXPECT(in == from_right);
      EXPECT_EQ(signals.collect().front().status.tag, lci::tag_t{6});
    }
    env.barrier();
    EXPECT(arrivals.empty() && signals.empty());
    lci::free_comp_x(&sync).runtime(env.rt)();
    lci::free_comp_x(&sync2).runtime(env.rt)();
  });
}

TEST_CASE("post_comm refuses a receive with a remote completion", "[post_comm]") {
  on_ranks([](rank_env& env) {
    inbox box(env, inbox_kind::queue_lcrq, 1);
    char buffer[8];
    for (const bool with_comp : {true, false}) {
      const lci::comp_t comp = with_comp ? box.comp() : lci::COMP_NULL;
      EXPECT_INVALID(lci::post_comm_x(direction_t::IN, env.right(), buffer, sizeof buffer, comp)
                         .remote_comp(box.rcomp())
                         .runtime(env.rt)(),
                     "remote_comp", std::to_string(box.rcomp()));
    }
    EXPECT(lci::test_drained_x().runtime(env.rt)().is_done());
    EXPECT(box.empty());
  });
}

TEST_CASE("post_comm refuses an invalid direction", "[post_comm]") {
  on_ranks([](rank_env& env) {
    char buffer[8];
    EXPECT_INVALID(lci::post_comm_x(static_cast<direction_t>(2), env.right(), buffer, sizeof buffer, lci::COMP_NULL)
                       .runtime(env.rt)(),
                   "direction", "2");
  });
}
