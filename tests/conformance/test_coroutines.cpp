// co_await on operations: a scheduler resumes tasks in its own thread, with the status of the operation.
#include <functional>
#include <lci/cpp20.hpp>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include "tests/conformance/harness.hpp"
#include "tests/conformance/pattern.hpp"

using namespace conf;

namespace {

constexpr lci::tag_t there = 1, back = 2;

/// Forwards messages from the left to the right neighbour, `rounds` times; rank 0 begins.
lci::task<int> pass_round(rank_env& env, lci::device_t device, size_t words, lci::tag_t tag, int rounds) {
  std::vector<uint64_t> out(words), in(words);
  int good = 0;
  for (int i = 0; i < rounds; ++i) {
    const auto expected = static_cast<uint64_t>(i + 1);
    std::vector<uint64_t>& passed_on = env.rank == 0 ? out : in;
    out.assign(words, expected);
    in.assign(words, 0);
    auto receive = lci::post_recv_x(env.left(), lci::buffer(in), tag, lci::COMP_NULL).device(device);
    auto send = lci::post_send_x(env.right(), lci::buffer(passed_on), tag, lci::COMP_NULL).device(device);
    lci::status_t s;
    if (env.rank == 0) {
      s = (co_await lci::when_all(receive, send))[0];
    } else {
      s = co_await receive;
      co_await send;
    }
    const auto got = lci::values<uint64_t>(s);
    good += s.rank == env.left() && s.tag == tag && got.size() == words && got.front() == expected &&
            got.back() == expected;
  }
  co_return good;
}

lci::task<> check_round(rank_env& env, lci::device_t device, size_t words, lci::tag_t tag, int rounds,
                        std::thread::id owner) {
  const int good = co_await pass_round(env, device, words, tag, rounds);
  EXPECT_EQ(good, rounds);
  EXPECT(std::this_thread::get_id() == owner);
}

}  // namespace

TEST_CASE("tasks pass messages of all sizes round a ring", "[cpp20][coroutines]") {
  const size_t words = GENERATE(size_t{1}, size_t{500}, size_t{50000});
  INFO("words " << words);
  on_ranks([words](rank_env& env) {
    lci::scheduler scheduler(env.device);
    for (lci::tag_t t = 0; t < 8; ++t)
      scheduler.spawn(check_round(env, env.device, words, t, 10, std::this_thread::get_id()));
    EXPECT_EQ(scheduler.unfinished(), size_t{8});
    scheduler.run();
    EXPECT_EQ(scheduler.unfinished(), size_t{0});
    env.barrier();
  });
}

TEST_CASE("a task resumes in its scheduler's thread, whichever thread makes progress", "[cpp20][coroutines]") {
  on_ranks([](rank_env& env) {
    std::atomic<bool> over{false};
    std::thread helper([&] {
      while (!over.load(std::memory_order_relaxed)) env.progress();
    });
    lci::scheduler scheduler(env.device);
    for (lci::tag_t t = 0; t < 4; ++t)
      scheduler.spawn(check_round(env, env.device, 300, t, 30, std::this_thread::get_id()));
    scheduler.run();
    over.store(true, std::memory_order_relaxed);
    helper.join();
    env.barrier();
  });
}

TEST_CASE("threads with schedulers and devices of their own do not interfere", "[cpp20][coroutines]") {
  on_ranks([](rank_env& env) {
    const auto devices = env.devices(2, false);
    env.parallel(2, [&](int t) {
      const auto device = devices[static_cast<size_t>(t)];
      lci::scheduler scheduler(device);
      scheduler.run(check_round(env, device, 40, static_cast<lci::tag_t>(100 + t), 50, std::this_thread::get_id()));
    });
  });
}

TEST_CASE("posts that return retry are posted again, and none is lost", "[cpp20][coroutines]") {
  const int messages = 3000;
  on_ranks(
      [](rank_env& env) {
        int sent = 0, received = 0, wrong = 0;
        const auto send = [](rank_env& e, int& n) -> lci::task<> {
          uint64_t data[32] = {};
          for (uint64_t i = 0; i < messages; ++i) {
            data[0] = i;
            co_await lci::post_send_x(e.right(), lci::buffer(data), there, lci::COMP_NULL);
            ++n;
          }
        };
        const auto receive = [](rank_env& e, int& n, int& bad) -> lci::task<> {
          std::vector<bool> seen(messages);
          uint64_t data[32];
          for (int i = 0; i < messages; ++i) {
            co_await lci::post_recv_x(e.left(), lci::buffer(data), there, lci::COMP_NULL);
            ++n;
            bad += data[0] >= messages || seen[data[0]];
            if (data[0] < messages) seen[data[0]] = true;
          }
        };
        lci::scheduler scheduler(env.device);
        scheduler.spawn(send(env, sent));
        scheduler.spawn(receive(env, received, wrong));
        scheduler.run();
        EXPECT_EQ(sent, messages);
        EXPECT_EQ(received, messages);
        EXPECT_EQ(wrong, 0);
        env.barrier();
      },
      [](lci::global_attr_t& attr) {
        attr.npackets = 64;
        attr.shm_lane_slots = 16;
        attr.sim_retry_percent = 50;
      });
}

TEST_CASE("when_all posts all operations before it waits for any", "[cpp20][coroutines]") {
  const size_t size = GENERATE(size_t{8}, size_t{200000});
  INFO("size " << size);
  on_ranks([size](rank_env& env) {
    const auto exchange = [](rank_env& e, size_t n) -> lci::task<> {
      rank_env& env = e;
      std::vector<std::byte> out(n), from_left(n), from_right(n);
      fill(out.data(), n, static_cast<uint64_t>(e.rank));
      // No send can end before its target has posted the receives.
      const auto [l, r, a, b] = co_await lci::when_all(
          lci::post_recv_x(e.left(), lci::buffer(from_left), there, lci::COMP_NULL),
          lci::post_recv_x(e.right(), lci::buffer(from_right), back, lci::COMP_NULL).user_context(&out),
          lci::post_send_x(e.right(), lci::buffer(out), there, lci::COMP_NULL),
          lci::post_send_x(e.left(), lci::buffer(out), back, lci::COMP_NULL));
      EXPECT(l.is_done() && r.is_done() && a.is_done() && b.is_done());
      EXPECT_EQ(l.rank, e.left());
      EXPECT_EQ(r.rank, e.right());
      EXPECT(l.user_context == nullptr && r.user_context == &out);
      EXPECT(matches(from_left.data(), n, static_cast<uint64_t>(e.left())));
      EXPECT(matches(from_right.data(), n, static_cast<uint64_t>(e.right())));
    };
    lci::scheduler scheduler(env.device);
    for (int i = 0; i < 10; ++i) scheduler.run(exchange(env, size));
    env.barrier();
  });
}

TEST_CASE("any functor that posts can be awaited", "[cpp20][coroutines]") {
  on_ranks([](rank_env& env) {
    std::vector<uint64_t> window(64, 0);
    lci::unique_handle mr(lci::register_memory_x(lci::buffer(window)).device(env.device)());
    const auto keys = env.all_gather(lci::get_rmr(mr));
    lci::unique_handle queue(lci::alloc_cq());
    lci::unique_rcomp rcomp(lci::register_rcomp_x(queue).runtime(env.rt)(), {env.rt});
    const auto numbers = env.all_gather(rcomp.get());
    const auto work = [](rank_env& e, const std::vector<lci::rmr_t>& all, lci::rcomp_t number) -> lci::task<> {
      rank_env& env = e;
      const auto right = static_cast<size_t>(e.right());
      const uint64_t mine = 1000 + static_cast<uint64_t>(e.rank);
      int context = 0;
      lci::status_t s =
          co_await lci::post_put_x(e.right(), lci::buffer(mine), lci::COMP_NULL, 3 * sizeof mine, all[right])
              .user_context(&context);
      EXPECT(s.is_done() && s.user_context == &context);
      uint64_t read = 0;
      s = co_await lci::post_get_x(e.right(), lci::buffer(read), lci::COMP_NULL, 3 * sizeof read, all[right]);
      EXPECT(s.is_done());
      EXPECT_EQ(read, mine);
      s = co_await lci::post_am_x(e.right(), lci::buffer(mine), lci::COMP_NULL, number).allow_done(false);
      EXPECT(s.is_done());
      s = co_await lci::post_comm_x(lci::direction_t::OUT, e.right(), lci::buffer_t{&context, sizeof context},
                                    lci::COMP_NULL)
              .remote_comp(number);
      EXPECT(s.is_done());
      const uint64_t more = 5;
      uint64_t before = 0;
      s = co_await lci::post_atomic_x(e.right(), lci::atomic_op_t::add, &more, &before, lci::COMP_NULL, 5 * sizeof more,
                                      all[right]);
      EXPECT(s.is_done());
      EXPECT_EQ(before, uint64_t{0});
    };
    lci::scheduler scheduler(env.device);
    scheduler.run(work(env, keys, numbers[static_cast<size_t>(env.right())]));
    for (size_t arrived = 0; arrived < 2;) {
      const lci::status_t s = lci::cq_wait_for_x(queue, 30).device(env.device)();
      EXPECT(s.is_done());
      if (!s.is_done()) break;
      const lci::unique_packet message(s.buffer, {env.rt});
      if (s.size == sizeof(uint64_t))
        EXPECT_EQ(lci::value<uint64_t>(s), uint64_t{1000} + static_cast<uint64_t>(env.left()));
      ++arrived;
    }
    env.barrier();
    EXPECT_EQ(window[3], uint64_t{1000} + static_cast<uint64_t>(env.left()));
    EXPECT_EQ(window[5], uint64_t{5});
  });
}

TEST_CASE("collective operations can be awaited", "[cpp20][coroutines]") {
  on_ranks([](rank_env& env) {
    const auto work = [](rank_env& e) -> lci::task<> {
      rank_env& env = e;
      for (int i = 0; i < 20; ++i) {
        co_await lci::barrier_x();
        const int64_t mine = e.rank + i;
        int64_t sum = 0;
        co_await lci::allreduce_x(&mine, &sum, 1, sizeof mine, lci::reduction<int64_t, std::plus<>>);
        EXPECT_EQ(sum, int64_t{e.size} * (e.size - 1) / 2 + int64_t{e.size} * i);
      }
    };
    lci::scheduler scheduler(env.device);
    scheduler.run(work(env));
    env.barrier();
  });
}

TEST_CASE("run() throws a task's exception, and the other tasks continue", "[cpp20][coroutines]") {
  on_ranks([](rank_env& env) {
    const auto inner = [](rank_env& e) -> lci::task<int> {
      co_await lci::barrier_x();
      static_cast<void>(e);
      throw std::logic_error("of the inner task");
    };
    const auto outer = [](rank_env&, lci::task<int> t) -> lci::task<> { co_await std::move(t); };
    const auto invalid = [](rank_env& e) -> lci::task<> {
      char byte = 0;
      co_await lci::post_send_x(e.size, lci::buffer(byte), 0, lci::COMP_NULL);
    };
    const auto caught = [](rank_env& e, int& n) -> lci::task<> {
      char byte = 0;
      try {
        co_await lci::post_send_x(e.size, lci::buffer(byte), 0, lci::COMP_NULL);
      } catch (const lci::invalid_argument_error&) {
        ++n;
      }
      co_await lci::barrier_x();
      ++n;
    };
    lci::scheduler scheduler(env.device);
    int n = 0;
    scheduler.spawn(invalid(env));
    EXPECT_INVALID(scheduler.run(), "post_send", "rank");
    scheduler.spawn(outer(env, inner(env)));
    bool thrown = false;
    try {
      scheduler.run();
    } catch (const std::logic_error& e) {
      thrown = std::string(e.what()) == "of the inner task";
    }
    EXPECT(thrown);
    scheduler.run(caught(env, n));
    EXPECT_EQ(n, 2);
    EXPECT_EQ(scheduler.unfinished(), size_t{0});
    env.barrier();
  });
}

TEST_CASE("a program's loop can run tasks by poll()", "[cpp20][coroutines]") {
  on_ranks([](rank_env& env) {
    lci::scheduler scheduler(env.device);
    scheduler.spawn(check_round(env, env.device, 10, 3, 5, std::this_thread::get_id()));
    env.until("the task", [&] {
      scheduler.poll();
      return scheduler.unfinished() == 0;
    });
    env.barrier();
  });
}

TEST_CASE("a task that was not started is freed with its scheduler", "[cpp20][coroutines]") {
  on_ranks([](rank_env& env) {
    auto token = std::make_shared<int>(1);
    const auto work = [](std::shared_ptr<int>) -> lci::task<> { co_return; };
    {
      lci::scheduler scheduler(env.device);
      scheduler.spawn(work(token));
      auto never_spawned = work(token);
      EXPECT_EQ(token.use_count(), 3);
    }
    EXPECT_EQ(token.use_count(), 1);
  });
}
