// Deadlines of operations.
#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>
#include <vector>

#include "tests/conformance/cancelling.hpp"

using namespace conf;
using lci::errorcode_t;

namespace {

using clock_type = std::chrono::steady_clock;

double seconds_since(clock_type::time_point begin) {
  return std::chrono::duration<double>(clock_type::now() - begin).count();
}

}  // namespace

TEST_CASE("a receive without a message ends at its deadline and not before", "[cancel]") {
  on_ranks([](rank_env& env) {
    end_queue ended(env);
    char in[64] = {};
    lci::operation_t name;
    const auto begin = clock_type::now();
    // The later deadline is posted first.
    for (const double seconds : {0.08, 0.02, 0.0, 0.05})
      EXPECT(lci::post_recv_x(env.left(), in, sizeof in, 3, ended.comp())
                 .deadline(seconds)
                 .user_context(reinterpret_cast<void*>(static_cast<uintptr_t>(seconds * 1000)))
                 .operation(&name)
                 .runtime(env.rt)()
                 .is_posted());
    for (const uintptr_t ms : {0u, 20u, 50u, 80u}) {
      const auto s = ended.next();
      EXPECT_EQ(s.error, errorcode_t::timed_out);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(s.user_context), ms);
      EXPECT(seconds_since(begin) * 1000 >= static_cast<double>(ms));
    }
    EXPECT(!lci::cancel(name));
    EXPECT(ended.empty());
    env.barrier();
  });
}

TEST_CASE("an operation that ends before its deadline does not time out", "[cancel]") {
  on_ranks([](rank_env& env) {
    end_queue ended(env);
    constexpr int n = 50;
    char in[n] = {};
    for (int round = 0; round < 3; ++round) {
      // Each round has its own tags: on a slow machine a message may arrive after its receive's deadline, and then
      // remains unexpected.
      const auto tag = [round](int i) { return static_cast<lci::tag_t>(round * n + i); };
      for (int i = 0; i < n; ++i)
        EXPECT(lci::post_recv_x(env.left(), &in[i], 1, tag(i), ended.comp())
                   .deadline(0.2 + (i * 7 % n) * 0.001)
                   .allow_done(false)
                   .runtime(env.rt)()
                   .is_posted());
      env.barrier();
      const char byte = 'y';
      for (int i = 0; i < n; ++i)
        env.post(
            [&] { return lci::post_send_x(env.right(), &byte, 1, tag(i), lci::COMP_NULL_RETRY).runtime(env.rt)(); });
      for (int i = 0; i < n; ++i) {
        const auto s = ended.next();
        EXPECT(s.is_done() || s.error == errorcode_t::timed_out);
      }
      EXPECT(ended.empty());
      env.barrier();
    }
  });
}

TEST_CASE("a graph ends early when one of its operations reaches its deadline", "[cancel]") {
  on_ranks([](rank_env& env) {
    auto graph = lci::alloc_graph_x().runtime(env.rt)();
    char in;
    std::atomic<int> after{0};
    const auto receive = lci::graph_add_node_op(
        graph, lci::post_recv_x(env.left(), &in, 1, 3, lci::COMP_NULL).deadline(0.02).runtime(env.rt));
    const auto next = lci::graph_add_node_x(graph, [](void* count) {
                        ++*static_cast<std::atomic<int>*>(count);
                        return lci::status_t(errorcode_t::done);
                      }).value(&after)();
    lci::graph_add_edge(graph, receive, next);
    lci::graph_start(graph);
    lci::status_t s;
    env.until("the graph", [&] { return !(s = lci::graph_test(graph)).is_retry(); });
    EXPECT_EQ(s.error, errorcode_t::timed_out);
    EXPECT_EQ(s.rank, env.left());
    EXPECT_EQ(after.load(), 0);
    lci::free_comp_x(&graph).runtime(env.rt)();
    env.barrier();
  });
}

TEST_CASE("blocking posts return at their deadlines", "[cancel]") {
  on_ranks([](rank_env& env) {
    const size_t size = rendezvous_size(env);
    std::vector<char> data(size);
    const auto begin = clock_type::now();
    lci::operation_t name;
    auto s = lci::post_recv_x(env.left(), data.data(), size, 3, lci::COMP_NULL)
                 .deadline(0.03)
                 .operation(&name)
                 .runtime(env.rt)();
    EXPECT_EQ(s.error, errorcode_t::timed_out);
    EXPECT(name.is_empty());
    EXPECT(seconds_since(begin) >= 0.03);
    s = lci::post_send_x(env.right(), data.data(), size, 5, lci::COMP_NULL).deadline(0.03).runtime(env.rt)();
    EXPECT_EQ(s.error, errorcode_t::timed_out);
    s = lci::post_send_x(env.right(), data.data(), 8, 4, lci::COMP_NULL)
            .comp_semantic(lci::comp_semantic_t::remote)
            .deadline(0.03)
            .runtime(env.rt)();
    EXPECT_EQ(s.error, errorcode_t::timed_out);
    env.barrier();
    // Receive the message that was sent in spite of its deadline, so that it is acknowledged.
    EXPECT(lci::post_recv_x(env.left(), data.data(), 8, 4, lci::COMP_NULL).runtime(env.rt)().is_done());
    drain(env);
    env.barrier();
  });
}

TEST_CASE("a flush ends at its deadline, or when it is cancelled, and what it waits for goes on", "[cancel]") {
  on_ranks([](rank_env& env) {
    auto sent = lci::alloc_counter_x().runtime(env.rt)();
    auto sync = lci::alloc_sync_x().runtime(env.rt)();
    char in = 0;
    const char out = 'x';
    // No rank posts a receive before the barrier below, so this message stays outstanding until then.
    env.post([&] {
      return lci::post_send_x(env.right(), &out, 1, 9, sent)
          .comp_semantic(lci::comp_semantic_t::remote)
          .runtime(env.rt)();
    });
    lci::operation_t name;
    for (const int target : {env.right(), lci::ALL_RANKS}) {
      const auto begin = clock_type::now();
      lci::status_t s = lci::post_flush_x(target, sync).deadline(0.03).user_context(&in).runtime(env.rt)();
      EXPECT(s.is_posted());
      s = finished(env, sync, s);
      EXPECT_EQ(s.error, errorcode_t::timed_out);
      EXPECT_EQ(s.rank, target);
      EXPECT_EQ(s.user_context, static_cast<void*>(&in));
      EXPECT(seconds_since(begin) >= 0.03);
      s = lci::post_flush_x(target, lci::COMP_NULL).deadline(0.03).operation(&name).runtime(env.rt)();
      EXPECT_EQ(s.error, errorcode_t::timed_out);
      EXPECT(name.is_empty());
      EXPECT(lci::post_flush_x(target, sync).deadline(0.03).runtime(env.rt)().is_posted());
      EXPECT(lci::sync_wait_for_x(sync, 30 * lci_test::time_scale, &s).runtime(env.rt)());  // asleep
      EXPECT_EQ(s.error, errorcode_t::timed_out);
      s = lci::post_flush_x(target, sync).operation(&name).runtime(env.rt)();
      EXPECT(s.is_posted() && !name.is_empty());
      EXPECT(lci::cancel(name));
      EXPECT_EQ(finished(env, sync, s).error, errorcode_t::cancelled);
      EXPECT(!lci::cancel(name));
    }
    EXPECT_INVALID(lci::post_flush_x(env.right(), sync).deadline(std::nan("")).runtime(env.rt)(), "deadline",
                   "seconds");
    EXPECT_INVALID(lci::post_flush_x(env.size, sync).deadline(1).runtime(env.rt)(), "rank", "ALL_RANKS");
    lci::status_t s = lci::post_flush_x(env.right(), sync).deadline(3600).operation(&name).runtime(env.rt)();
    EXPECT(s.is_posted());
    env.barrier();  // no rank receives before this point
    env.post([&] { return lci::post_recv_x(env.left(), &in, 1, 9, lci::COMP_NULL).runtime(env.rt)(); });
    EXPECT(finished(env, sync, s).is_done());
    EXPECT(!lci::cancel(name));
    EXPECT_EQ(lci::counter_get_x(sent).runtime(env.rt)(), int64_t{1});
    drain(env);
    EXPECT(lci::post_flush_x(env.right(), sync).deadline(0).operation(&name).runtime(env.rt)().is_done());
    EXPECT(name.is_empty());
    lci::free_comp_x(&sync).runtime(env.rt)();
    lci::free_comp_x(&sent).runtime(env.rt)();
    env.barrier();
  });
}

TEST_CASE("a progress thread that sleeps wakes up for deadlines", "[cancel]") {
  on_ranks([](rank_env& env) {
    auto device = lci::alloc_device_x().runtime(env.rt)();
    lci::progress_thread_t thread;
    try {
      thread = lci::alloc_progress_thread_x().progress_mode(lci::progress_mode_t::event).runtime(env.rt)();
      lci::progress_thread_add_device_x(thread, device).runtime(env.rt)();
    } catch (const lci::invalid_argument_error&) {
      // A progress thread serves the device already; it may sleep, too.
    }
    auto sync = lci::alloc_sync_x().runtime(env.rt)();
    char in;
    for (int i = 0; i < 3; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // until the thread sleeps
      const auto begin = clock_type::now();
      lci::post_recv_x(env.left(), &in, 1, 8, sync).device(device).deadline(0.01).runtime(env.rt)();
      lci::status_t s;
      EXPECT(lci::sync_wait_for_x(sync, 30 * lci_test::time_scale, &s).do_progress(false).runtime(env.rt)());
      EXPECT_EQ(s.error, errorcode_t::timed_out);
      EXPECT(seconds_since(begin) >= 0.01);
    }
    env.barrier();
    lci::free_comp_x(&sync).runtime(env.rt)();
    if (!thread.is_empty()) lci::free_progress_thread_x(&thread).runtime(env.rt)();
    lci::free_device_x(&device).runtime(env.rt)();
  });
}

TEST_CASE("a deadline that is NaN is refused", "[cancel]") {
  on_ranks([](rank_env& env) {
    char byte = 0;
    lci::operation_t name;
    // So late that it is never reached.
    auto sync = lci::alloc_sync_x().runtime(env.rt)();
    for (const double seconds : {1e300, static_cast<double>(INFINITY)}) {
      lci::post_recv_x(env.rank, &byte, 1, 3, sync).deadline(seconds).operation(&name).runtime(env.rt)();
      for (int i = 0; i < 10; ++i) env.progress();
      EXPECT(!lci::sync_test_x(sync, nullptr).runtime(env.rt)());
      EXPECT(lci::cancel(name));
      EXPECT_EQ(finished(env, sync, errorcode_t::posted).error, errorcode_t::cancelled);
    }
    lci::free_comp_x(&sync).runtime(env.rt)();
    EXPECT_INVALID(lci::post_recv_x(env.rank, &byte, 1, 3, lci::COMP_NULL).deadline(std::nan("")).runtime(env.rt)(),
                   "deadline", "seconds");
    EXPECT_INVALID(lci::post_recv_x(env.size, &byte, 1, 3, lci::COMP_NULL_RETRY).operation(&name).runtime(env.rt)(),
                   "rank", "0..");
    EXPECT(name.is_empty());
    EXPECT_INVALID(lci::post_send_x(env.size, &byte, 1, 3, lci::COMP_NULL_RETRY).deadline(1).runtime(env.rt)(), "rank",
                   "0..");
  });
}

TEST_CASE("puts, gets and sends end at their deadlines although their target makes no progress", "[cancel]") {
  on_ranks([](rank_env& env) {
    constexpr size_t largest = 4'000'000;
    constexpr double seconds = 0.05 * lci_test::time_scale, asleep = 40 * seconds;
    std::vector<char> mine(largest, 'm'), buffer(largest);
    auto mr = lci::register_memory_x(mine.data(), largest).runtime(env.rt)();
    const auto rmr = env.all_gather(lci::get_rmr_x(mr).runtime(env.rt)())[static_cast<size_t>(env.right())];
    auto in = lci::alloc_cq_x().runtime(env.rt)();
    const auto rcomp = env.all_gather(lci::register_rcomp_x(in).runtime(env.rt)())[static_cast<size_t>(env.right())];
    lci::barrier_x().runtime(env.rt)();  // some networks connect ranks that poll only
    env.barrier();
    const auto begin = clock_type::now();
    const bool orders = env.device.get_attr_ordered_puts();
    if (env.rank == 0 && env.size > 1) {
      const auto ends_in_time = [&](auto post) {
        std::ranges::fill(buffer, 'b');
        const auto since = clock_type::now();
        const lci::status_t s = post.deadline(seconds).runtime(env.rt)();
        EXPECT(s.is_done() || s.is_retry() || s.error == errorcode_t::timed_out);
        EXPECT(seconds_since(since) < asleep / 2);
        std::ranges::fill(buffer, 'x');  // it is the program's again
      };
      for (const size_t size : {size_t{8}, size_t{100'000}, largest}) {
        const int to = env.right();
        const std::array<size_t, 2> counts = {size / 4, 2}, strides = {size / 2};
        const lci::layout_t some = lci::layout_t::strided(counts.data(), strides.data(), 1);
        if (orders) {  // first, as posts that wait for these are not sent
          ends_in_time(lci::post_put_x(to, buffer.data(), size, lci::COMP_NULL, 0, rmr).ordered(true));
          ends_in_time(
              lci::post_put_x(to, buffer.data(), size / 2, lci::COMP_NULL, 0, rmr).layout(&some).ordered(true));
        }
        ends_in_time(lci::post_put_x(to, buffer.data(), size, lci::COMP_NULL, 0, rmr));
        ends_in_time(lci::post_put_x(to, buffer.data(), size, lci::COMP_NULL, 0, rmr)
                         .comp_semantic(lci::comp_semantic_t::remote));
        ends_in_time(lci::post_get_x(to, buffer.data(), size, lci::COMP_NULL, 0, rmr));
        ends_in_time(lci::post_send_x(to, buffer.data(), size, 1, lci::COMP_NULL));
        ends_in_time(lci::post_put_x(to, buffer.data(), size / 2, lci::COMP_NULL, 0, rmr).layout(&some));
        ends_in_time(lci::post_get_x(to, buffer.data(), size / 2, lci::COMP_NULL, 0, rmr).remote_layout(&some));
      }
      ends_in_time(lci::post_put_x(env.right(), buffer.data(), 100, lci::COMP_NULL, 0, rmr).remote_comp(rcomp));
    }
    while (env.rank != 0 && seconds_since(begin) < asleep) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    env.barrier();
    if (env.rank == 0) {
      (void)lci::post_flush_x(env.right(), lci::COMP_NULL).runtime(env.rt)();
      EXPECT(std::ranges::all_of(buffer, [](char c) { return c == 'x' || c == 0; }));  // no late data of gets
    }
    env.barrier();
    EXPECT(std::ranges::all_of(mine, [](char c) { return c == 'm' || c == 'b'; }));  // only what was posted
    lci::deregister_memory_x(&mr).runtime(env.rt)();
    drain(env);
    env.barrier();
    lci::free_comp_x(&in).runtime(env.rt)();
  });
}

TEST_CASE("a receive that has met its message ends at its deadline although its sender makes no progress", "[cancel]") {
  if (rank_count() == 1) LCI_SKIP("a single rank has no peer");
  on_ranks([](rank_env& env) {
    constexpr double seconds = 0.05 * lci_test::time_scale, asleep = 8 * seconds;
    constexpr size_t largest = 8'000'000;
    std::vector<char> buffer(largest);
    auto sync = lci::alloc_sync_x().runtime(env.rt)();
    const std::array<size_t, 2> counts = {largest / 4, 2}, strides = {largest / 2};
    const lci::layout_t some = lci::layout_t::strided(counts.data(), strides.data(), 1);
    for (int i = 0; i < lci_test::some_of(12); ++i) {
      const size_t size = i % 2 == 0 ? size_t{100'000} : largest / 2;
      const int rounds = std::array{0, 1, 100}[static_cast<size_t>(i / 4)];  // until the sender stops
      const bool acknowledged = i / 2 % 2 == 0;
      const auto tag = static_cast<lci::tag_t>(i);
      if (env.rank == 0) {
        std::ranges::fill(buffer, 's');
        const auto remote = acknowledged ? lci::comp_semantic_t::remote : lci::comp_semantic_t::memory;
        (void)env.post([&] {
          return lci::post_send_x(1, buffer.data(), size, tag, sync)
              .comp_semantic(remote)
              .allow_done(false)
              .runtime(env.rt)();
        });
      }
      lci::barrier_x().runtime(env.rt)();  // the request to send has arrived, unless the network delays messages
      for (int k = 0; k < 200 && env.rank == 1; ++k) (void)lci::progress_x().runtime(env.rt)();
      if (env.rank == 0) {
        for (int k = 0; k < rounds; ++k) (void)lci::progress_x().runtime(env.rt)();
        std::this_thread::sleep_for(std::chrono::duration<double>(asleep));
        const lci::status_t s = finished(env, sync, errorcode_t::posted);
        EXPECT(s.is_done() || s.error == errorcode_t::cancelled);
      } else if (env.rank == 1) {
        std::ranges::fill(buffer, 'b');
        const auto since = clock_type::now();
        const lci::layout_t* const layout = i % 6 == 1 ? &some : nullptr;
        const lci::status_t s = lci::post_recv_x(0, buffer.data(), size, tag, lci::COMP_NULL)
                                    .layout(layout)
                                    .deadline(seconds)
                                    .runtime(env.rt)();
        EXPECT(s.is_done() || s.error == errorcode_t::timed_out);
        EXPECT(seconds_since(since) < asleep);
        if (s.is_done()) EXPECT_EQ(static_cast<size_t>(std::ranges::count(buffer, 's')), size);
        std::ranges::fill(buffer, 'x');  // it is the program's again
        drain(env);                      // until the message has come
      }
      env.barrier();
      if (env.rank == 1) EXPECT(std::ranges::all_of(buffer, [](char c) { return c == 'x'; }));
      env.barrier();
    }
    drain(env);
    env.barrier();
    lci::free_comp_x(&sync).runtime(env.rt)();
  });
}

TEST_CASE("layouts whose deadlines pass while their pieces are posted end once, without bytes", "[cancel][threads]") {
  on_ranks([](rank_env& env) {
    constexpr size_t rows = 500, row = 16;
    std::vector<char> buffer(rows * row);
    window w(env, 2 * buffer.size());
    const std::array<size_t, 2> counts = {row, rows}, strides = {2 * row};
    const lci::layout_t some = lci::layout_t::strided(counts.data(), strides.data(), 1);
    end_queue ends(env);
    // Deadlines pass in this thread while the other one posts pieces.
    std::jthread other([&](const std::stop_token& over) {
      while (!over.stop_requested()) (void)lci::progress_x().runtime(env.rt)();
    });
    for (int i = 0; i < 100; ++i) {
      const bool puts = i % 2 == 0;
      const auto key = w.of(env.right());
      const double seconds = i % 4 < 2 ? 0 : 0.0001;
      lci::status_t s = env.post([&] {
        return puts ? lci::post_put_x(env.right(), buffer.data(), buffer.size(), ends.comp(), 0, key)
                          .remote_layout(&some)
                          .deadline(seconds)
                          .runtime(env.rt)()
                    : lci::post_get_x(env.right(), buffer.data(), buffer.size(), ends.comp(), 0, key)
                          .remote_layout(&some)
                          .deadline(seconds)
                          .runtime(env.rt)();
      });
      if (s.is_posted()) s = ends.next();
      EXPECT(s.is_done() || s.error == errorcode_t::timed_out);
      EXPECT_EQ(s.size, s.is_done() ? buffer.size() : size_t{0});
    }
    other.request_stop();
    other.join();
    EXPECT(ends.empty());
    (void)lci::post_flush_x(env.right(), lci::COMP_NULL).runtime(env.rt)();
    env.barrier();
  });
}
