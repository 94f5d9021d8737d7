// test_drained and wait_drained: true once no operation posted on the device is in flight.
#include "tests/conformance/inbox.hpp"
#include "tests/conformance/pattern.hpp"

using namespace conf;

TEST_CASE("a device is drained at first, not during a transfer, and again afterwards", "[drain]") {
  on_ranks([](rank_env& env) {
    EXPECT(lci::test_drained_x().runtime(env.rt)().is_done());
    const auto out = message(150'000, 1);
    std::vector<char> in(out.size());
    auto sync = lci::alloc_sync_x().threshold(2).runtime(env.rt)();
    env.barrier();
    const auto s = env.post([&] {
      return lci::post_send_x(env.right(), out.data(), out.size(), 1, sync).allow_done(false).runtime(env.rt)();
    });
    EXPECT(s.is_posted());
    EXPECT(lci::test_drained_x().runtime(env.rt)().is_retry());
    env.barrier();  // no receive is posted, so the transfer can't have ended
    EXPECT(lci::test_drained_x().runtime(env.rt)().is_retry());
    env.barrier();
    (void)lci::post_recv_x(env.left(), in.data(), in.size(), 1, sync).allow_done(false).runtime(env.rt)();
    lci::status_t both[2];
    lci::sync_wait_x(sync, both).runtime(env.rt)();
    EXPECT(in == out);
    lci::wait_drained_x().runtime(env.rt)();
    EXPECT(lci::test_drained_x().runtime(env.rt)().is_done());
    lci::free_comp_x(&sync).runtime(env.rt)();
  });
}

TEST_CASE("a receive that waits for a message counts as outstanding, unless the caller excludes receives", "[drain]") {
  on_ranks([](rank_env& env) {
    char b[8], c[8] = {};
    auto sync = lci::alloc_sync_x().runtime(env.rt)();
    EXPECT(lci::post_recv_x(env.left(), b, sizeof b, 1, sync).runtime(env.rt)().is_posted());
    EXPECT(lci::test_drained_x().runtime(env.rt)().is_retry());
    lci::wait_drained_x().receives(false).runtime(env.rt)();
    EXPECT(lci::test_drained_x().receives(false).runtime(env.rt)().is_done());
    env.barrier();
    env.post([&] { return lci::post_send_x(env.right(), c, sizeof c, 1, lci::COMP_NULL).runtime(env.rt)(); });
    lci::wait_drained_x().runtime(env.rt)();
    EXPECT(lci::sync_test_x(sync, nullptr).runtime(env.rt)());
    EXPECT(lci::test_drained_x().runtime(env.rt)().is_done());
    lci::free_comp_x(&sync).runtime(env.rt)();
  });
}

TEST_CASE("wait_drained waits for the backlog", "[drain]") {
  on_ranks([](rank_env& env) {
    constexpr int count = 3000;
    inbox box(env, inbox_kind::counter, count);
    const auto rcomp = env.all_gather(box.rcomp())[static_cast<size_t>(env.right())];
    const auto out = message(1000, 1);
    for (int i = 0; i < count; ++i)
      (void)lci::post_am_x(env.right(), out.data(), out.size(), lci::COMP_NULL, rcomp)
          .allow_retry(false)
          .runtime(env.rt)();
    lci::wait_drained_x().runtime(env.rt)();
    EXPECT(lci::test_drained_x().runtime(env.rt)().is_done());
    box.collect();
    env.barrier();
    EXPECT(box.empty());
  });
}

TEST_CASE("wait_drained waits for large active messages that others have begun to send", "[drain]") {
  on_ranks([](rank_env& env) {
    constexpr int count = 16;  // more than a device accepts at a time from a peer (receive_window::most)
    const int from = 0, to = env.size - 1;
    // A progress thread may still be handling a request when this thread gets the message behind it.
    const bool is_served = env.rt.get_attr_progress_thread() != lci::progress_mode_t::none;
    const lci::device_t device = env.device;
    auto arrivals = lci::alloc_counter_x().runtime(env.rt)();
    auto announced = lci::alloc_counter_x().runtime(env.rt)();
    auto sends = lci::alloc_counter_x().runtime(env.rt)();
    const auto large = env.all_gather(lci::register_rcomp_x(arrivals).runtime(env.rt)())[static_cast<size_t>(to)];
    const auto small = env.all_gather(lci::register_rcomp_x(announced).runtime(env.rt)())[static_cast<size_t>(to)];
    const auto out = message(200'000, 1);
    const auto counted = [&](lci::comp_t c) { return lci::counter_get_x(c).runtime(env.rt)(); };
    if (env.rank == from) {
      for (int i = 0; i < count; ++i)
        env.post(device, [&] {
          return lci::post_am_x(to, out.data(), out.size(), sends, large)
              .device(device)
              .allow_done(false)
              .runtime(env.rt)();
        });
      // In a simulated network messages may overtake each other, by at most this number of polls.
      for (int i = 0; ranks_in_one_process() && i < 1000; ++i) env.progress(device);
      env.post(device, [&] {
        return lci::post_am_x(to, out.data(), 8, lci::COMP_NULL, small).device(device).runtime(env.rt)();
      });
    }
    if (env.rank == to) {
      env.until(device, "the message behind", [&] { return counted(announced) == 1; });
      lci::wait_drained_x().device(device).runtime(env.rt)();
      if (is_served) env.until(device, "large messages", [&] { return counted(arrivals) == count; });
      EXPECT_EQ(counted(arrivals), count);
    }
    if (env.rank == from) env.until(device, "large messages", [&] { return counted(sends) == count; });
    env.barrier();
    for (lci::comp_t* c : {&arrivals, &announced, &sends}) lci::free_comp_x(c).runtime(env.rt)();
  });
}
