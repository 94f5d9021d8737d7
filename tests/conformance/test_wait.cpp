// Waits with a time-out, spinning or parked, end for the right reason and at the right time.
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <string>
#include <thread>

#include "tests/conformance/inbox.hpp"
#include "tests/conformance/pattern.hpp"

using namespace conf;

namespace {

double seconds_since(std::chrono::steady_clock::time_point t) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count();
}
/// Processor time of this thread.
double thread_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

void add_words(const void* left, const void* right, void* to, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    uint64_t l, r;
    std::memcpy(&l, static_cast<const char*>(left) + i * sizeof l, sizeof l);
    std::memcpy(&r, static_cast<const char*>(right) + i * sizeof r, sizeof r);
    l += r;
    std::memcpy(static_cast<char*>(to) + i * sizeof l, &l, sizeof l);
  }
}

}  // namespace

TEST_CASE("a wait times out if there is no completion", "[wait]") {
  const bool park = GENERATE(true, false);
  const bool do_progress = GENERATE(true, false);
  INFO("park " << park << ", do_progress " << do_progress);
  on_ranks([=](rank_env& env) {
    const auto rt = env.rt;
    auto sync = lci::alloc_sync_x().runtime(rt)();
    auto cq = lci::alloc_cq_x().runtime(rt)();
    auto counter = lci::alloc_counter_x().runtime(rt)();
    lci::status_t s;
    for (const double timeout : {0.0, 0.02}) {
      const auto begin = std::chrono::steady_clock::now();
      EXPECT(!lci::sync_wait_for_x(sync, timeout, &s).park(park).do_progress(do_progress).runtime(rt)());
      EXPECT(lci::cq_wait_for_x(cq, timeout).park(park).do_progress(do_progress).runtime(rt)().is_retry());
      EXPECT(!lci::counter_wait_for_x(counter, 1, timeout).park(park).do_progress(do_progress).runtime(rt)());
      const double took = seconds_since(begin);
      EXPECT(took >= 3 * timeout * 0.95);
      EXPECT(took < 3 * timeout + 5);
    }
    lci::free_comp_x(&sync).runtime(rt)();
    lci::free_comp_x(&cq).runtime(rt)();
    lci::free_comp_x(&counter).runtime(rt)();
  });
}

TEST_CASE("a wait returns an existing completion at once, even with a time-out of 0", "[wait]") {
  on_ranks([](rank_env& env) {
    const auto rt = env.rt;
    auto sync = lci::alloc_sync_x().runtime(rt)();
    auto cq = lci::alloc_cq_x().runtime(rt)();
    auto counter = lci::alloc_counter_x().runtime(rt)();
    lci::status_t in(lci::errorcode_t::done), out;
    in.tag = 5;
    lci::comp_signal_x(sync, in).runtime(rt)();
    lci::comp_signal_x(cq, in).runtime(rt)();
    lci::comp_signal_x(counter, in).runtime(rt)();
    EXPECT(lci::sync_wait_for_x(sync, 0.0, &out).runtime(rt)());
    EXPECT_EQ(out.tag, lci::tag_t{5});
    EXPECT_EQ(lci::cq_wait_for_x(cq, 0.0).runtime(rt)().tag, lci::tag_t{5});
    EXPECT(lci::counter_wait_for_x(counter, 1, 0.0).runtime(rt)());
    EXPECT(lci::counter_wait_for_x(counter, 0, 0.0).runtime(rt)());
    EXPECT(!lci::counter_wait_for_x(counter, 2, 0.0).runtime(rt)());
    lci::free_comp_x(&sync).runtime(rt)();
    lci::free_comp_x(&cq).runtime(rt)();
    lci::free_comp_x(&counter).runtime(rt)();
  });
}

TEST_CASE("a wait returns the message that arrives meanwhile", "[wait]") {
  const bool park = GENERATE(true, false);
  INFO("park " << park);
  on_ranks([park](rank_env& env) {
    const auto rt = env.rt;
    inbox box(env, inbox_kind::queue_lcrq, 1);
    const auto rcomp = env.all_gather(box.rcomp())[static_cast<size_t>(env.right())];
    // A message goes round the ring; all ranks except the one that has it wait.
    for (int round = 0; round < 20; ++round) {
      const uint64_t word = 1;
      auto pass_on = [&] {
        env.post(
            [&] { return lci::post_am_x(env.right(), &word, sizeof word, lci::COMP_NULL_RETRY, rcomp).runtime(rt)(); });
      };
      if (env.rank == 0) pass_on();
      const auto s = lci::cq_wait_for_x(box.comp(), 30.0).park(park).runtime(rt)();
      EXPECT(s.is_done());
      EXPECT_EQ(s.rank, env.left());
      if (!s.is_done()) break;
      std::free(s.buffer);
      if (env.rank != 0) pass_on();
    }
    env.barrier();
  });
}

TEST_CASE("a parked wait uses no processor time", "[wait]") {
  const bool do_progress = GENERATE(true, false);
  INFO("do_progress " << do_progress);
  if (ranks_in_one_process() && do_progress)
    LCI_SKIP("the sim fabric has nothing to sleep on: its ranks share the process");
  on_ranks([do_progress](rank_env& env) {
    auto sync = lci::alloc_sync_x().runtime(env.rt)();
    env.barrier();
    lci::status_t s;
    const double used = thread_seconds();
    EXPECT(!lci::sync_wait_for_x(sync, 0.5, &s).park(true).do_progress(do_progress).runtime(env.rt)());
    EXPECT(thread_seconds() - used < 0.1);
    lci::free_comp_x(&sync).runtime(env.rt)();
    env.barrier();
  });
}

TEST_CASE("waits without a time-out use no processor time", "[wait]") {
  if (rank_count() < 2) LCI_SKIP("a single rank has no peer to wait for");
  if (ranks_in_one_process()) LCI_SKIP("the sim fabric has nothing to sleep on: its ranks share the process");
  using lci::status_t;
  struct blocked {
    const char* what;
    std::function<void(rank_env&, int from)> wait, end;  // rank 0 waits, rank 1 ends it
  };
  static constexpr lci::tag_t tag = 3;
  static char word[8], large[1 << 20];
  const auto send = [](rank_env& env, int to) {
    EXPECT(lci::post_send_x(to, word, sizeof word, tag, lci::COMP_NULL).runtime(env.rt)().is_done());
  };
  const blocked ways[] = {
      {"sync_wait",
       [](rank_env& env, int from) {
         auto sync = lci::alloc_sync_x().runtime(env.rt)();
         status_t s;
         lci::post_recv_x(from, word, sizeof word, tag, sync).allow_done(false).runtime(env.rt)();
         lci::sync_wait_x(sync, &s).runtime(env.rt)();
         EXPECT(s.is_done());
         lci::free_comp_x(&sync).runtime(env.rt)();
       },
       send},
      {"cq_wait_for",
       [](rank_env& env, int from) {
         auto cq = lci::alloc_cq_x().runtime(env.rt)();
         lci::post_recv_x(from, word, sizeof word, tag, cq).allow_done(false).runtime(env.rt)();
         EXPECT(lci::cq_wait_for_x(cq, -1).runtime(env.rt)().is_done());
         lci::free_comp_x(&cq).runtime(env.rt)();
       },
       send},
      {"counter_wait_for",
       [](rank_env& env, int from) {
         auto counter = lci::alloc_counter_x().runtime(env.rt)();
         lci::post_recv_x(from, word, sizeof word, tag, counter).allow_done(false).runtime(env.rt)();
         EXPECT(lci::counter_wait_for_x(counter, 1, -1).runtime(env.rt)());
         lci::free_comp_x(&counter).runtime(env.rt)();
       },
       send},
      {"graph_wait_for",
       [](rank_env& env, int from) {
         auto graph = lci::alloc_graph_x().runtime(env.rt)();
         auto op = lci::post_recv_x(from, word, sizeof word, tag, lci::COMP_NULL).runtime(env.rt);
         auto node = lci::graph_add_node_op(graph, op);
         lci::graph_add_edge_x(graph, lci::GRAPH_START, node).runtime(env.rt)();
         lci::graph_add_edge_x(graph, node, lci::GRAPH_END).runtime(env.rt)();
         lci::graph_start_x(graph).runtime(env.rt)();
         EXPECT(lci::graph_wait_for_x(graph, -1).runtime(env.rt)().is_done());
         lci::free_comp_x(&graph).runtime(env.rt)();
       },
       send},
      {"a receive that waits",
       [](rank_env& env, int from) {
         EXPECT(lci::post_recv_x(from, word, sizeof word, tag, lci::COMP_NULL).runtime(env.rt)().is_done());
       },
       send},
      {"a large send that waits",
       [](rank_env& env, int to) {
         EXPECT(lci::post_send_x(to, large, sizeof large, tag, lci::COMP_NULL).runtime(env.rt)().is_done());
       },
       [](rank_env& env, int from) {
         EXPECT(lci::post_recv_x(from, large, sizeof large, tag, lci::COMP_NULL).runtime(env.rt)().is_done());
       }},
      {"wait_drained",
       [](rank_env& env, int to) {
         auto counter = lci::alloc_counter_x().runtime(env.rt)();
         env.post([&] { return lci::post_send_x(to, large, sizeof large, tag, counter).runtime(env.rt)(); });
         lci::wait_drained_x().runtime(env.rt)();
         EXPECT_EQ(lci::counter_get_x(counter).runtime(env.rt)(), 1);
         lci::free_comp_x(&counter).runtime(env.rt)();
       },
       [](rank_env& env, int from) {
         EXPECT(lci::post_recv_x(from, large, sizeof large, tag, lci::COMP_NULL).runtime(env.rt)().is_done());
       }},
      {"barrier", [](rank_env& env, int) { lci::barrier_x().runtime(env.rt)(); },
       [](rank_env& env, int) { lci::barrier_x().runtime(env.rt)(); }},
      {"allreduce",
       [](rank_env& env, int) {
         uint64_t one = 1, sum = 0;
         lci::allreduce_x(&one, &sum, 1, sizeof one, add_words).runtime(env.rt)();
         EXPECT_EQ(sum, static_cast<uint64_t>(env.size));
       },
       [](rank_env& env, int) {
         uint64_t one = 1, sum = 0;
         lci::allreduce_x(&one, &sum, 1, sizeof one, add_words).runtime(env.rt)();
       }},
  };
  for (const blocked& way : ways) {
    INFO(way.what);
    const bool all = std::string(way.what) == "barrier" || std::string(way.what) == "allreduce";
    on_ranks([&way, all](rank_env& env) {
      env.barrier();
      if (env.rank == 0) {
        const auto begin = std::chrono::steady_clock::now();
        const double used = thread_seconds();
        way.wait(env, 1);
        EXPECT(seconds_since(begin) > 0.4);
        EXPECT(thread_seconds() - used < 0.1);
      } else if (env.rank == 1) {
        std::this_thread::sleep_for(std::chrono::milliseconds(500));
        way.end(env, 0);
      } else if (all) {
        way.end(env, 0);
      }
      env.barrier();
    });
  }
}

TEST_CASE("a time-out that is NaN is refused", "[wait][invalid]") {
  on_ranks([](rank_env& env) {
    const auto rt = env.rt;
    auto sync = lci::alloc_sync_x().runtime(rt)();
    auto cq = lci::alloc_cq_x().runtime(rt)();
    auto counter = lci::alloc_counter_x().runtime(rt)();
    for (const double nan : {std::nan(""), -std::nan("")}) {
      lci::status_t s;
      EXPECT_INVALID(lci::sync_wait_for_x(sync, nan, &s).runtime(rt)(), "timeout", "nan");
      EXPECT_INVALID(lci::cq_wait_for_x(cq, nan).runtime(rt)(), "timeout", "nan");
      EXPECT_INVALID(lci::counter_wait_for_x(counter, 1, nan).runtime(rt)(), "timeout", "nan");
    }
    lci::free_comp_x(&sync).runtime(rt)();
    lci::free_comp_x(&cq).runtime(rt)();
    lci::free_comp_x(&counter).runtime(rt)();
  });
}

TEST_CASE("a thread that is parked without progress is woken by the thread that makes progress", "[wait]") {
  on_ranks([](rank_env& env) {
    const auto rt = env.rt;
    auto sync = lci::alloc_sync_x().runtime(rt)();
    auto cq = lci::alloc_cq_x().runtime(rt)();
    auto counter = lci::alloc_counter_x().runtime(rt)();
    for (int i = 0; i < 20; ++i) {
      bool sync_ok = false, cq_ok = false, counter_ok = false;
      std::thread a([&] {
        lci::status_t s;
        sync_ok = lci::sync_wait_for_x(sync, 30.0, &s).do_progress(false).runtime(rt)();
      });
      std::thread b([&] { cq_ok = lci::cq_wait_for_x(cq, 30.0).do_progress(false).runtime(rt)().is_done(); });
      std::thread c(
          [&] { counter_ok = lci::counter_wait_for_x(counter, i + 1, 30.0).do_progress(false).runtime(rt)(); });
      if (i % 2 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      const lci::status_t done(lci::errorcode_t::done);
      lci::comp_signal_x(sync, done).runtime(rt)();
      lci::comp_signal_x(cq, done).runtime(rt)();
      lci::comp_signal_x(counter, done).runtime(rt)();
      a.join();
      b.join();
      c.join();
      EXPECT(sync_ok && cq_ok && counter_ok);
    }
    lci::free_comp_x(&sync).runtime(rt)();
    lci::free_comp_x(&cq).runtime(rt)();
    lci::free_comp_x(&counter).runtime(rt)();
  });
}
