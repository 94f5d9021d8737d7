// Waiting with a time-out, spinning or parked: ends when it should, at the time it should.
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <thread>

#include "tests/conformance/inbox.hpp"
#include "tests/conformance/pattern.hpp"

using namespace conf;

namespace {

double seconds_since(std::chrono::steady_clock::time_point t) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - t).count();
}
/// Processor time this thread has used.
double thread_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

}  // namespace

TEST_CASE("a wait with a time-out returns empty-handed when nothing comes", "[wait]") {
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
      EXPECT(!lci::sync_wait_for_x(sync, timeout, &s)
                  .park(park)
                  .do_progress(do_progress)
                  .runtime(rt)());
      EXPECT(lci::cq_wait_for_x(cq, timeout)
                 .park(park)
                 .do_progress(do_progress)
                 .runtime(rt)()
                 .is_retry());
      EXPECT(!lci::counter_wait_for_x(counter, 1, timeout)
                  .park(park)
                  .do_progress(do_progress)
                  .runtime(rt)());
      const double took = seconds_since(begin);
      EXPECT(took >= 3 * timeout * 0.95);
      EXPECT(took < 3 * timeout + 5);
    }
    lci::free_comp_x(&sync).runtime(rt)();
    lci::free_comp_x(&cq).runtime(rt)();
    lci::free_comp_x(&counter).runtime(rt)();
  });
}

TEST_CASE("what is there already is returned at once, even with no time", "[wait]") {
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

TEST_CASE("a waiter gets the message that comes while it waits", "[wait]") {
  const bool park = GENERATE(true, false);
  INFO("park " << park);
  on_ranks([park](rank_env& env) {
    const auto rt = env.rt;
    inbox box(env, inbox_kind::queue_lcrq, 1);
    const auto rcomp = env.all_gather(box.rcomp())[static_cast<size_t>(env.right())];
    // A token goes round the ring: all but its holder wait.
    for (int round = 0; round < 20; ++round) {
      const uint64_t word = 1;
      auto pass_on = [&] {
        env.post([&] {
          return lci::post_am_x(env.right(), &word, sizeof word, lci::COMP_NULL_RETRY, rcomp)
              .runtime(rt)();
        });
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

TEST_CASE("a parked waiter leaves the processor to others", "[wait]") {
  const bool do_progress = GENERATE(true, false);
  INFO("do_progress " << do_progress);
  if (ranks_in_one_process() && do_progress)
    LCI_SKIP("the sim fabric has nothing to sleep on: its ranks share the process");
  on_ranks([do_progress](rank_env& env) {
    auto sync = lci::alloc_sync_x().runtime(env.rt)();
    env.barrier();
    lci::status_t s;
    const double used = thread_seconds();
    EXPECT(!lci::sync_wait_for_x(sync, 0.5, &s)
                .park(true)
                .do_progress(do_progress)
                .runtime(env.rt)());
    EXPECT(thread_seconds() - used < 0.1);
    lci::free_comp_x(&sync).runtime(env.rt)();
    env.barrier();
  });
}

TEST_CASE("a thread parked without progress is woken by the one that makes it", "[wait]") {
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
      std::thread b([&] {
        cq_ok = lci::cq_wait_for_x(cq, 30.0).do_progress(false).runtime(rt)().is_done();
      });
      std::thread c([&] {
        counter_ok =
            lci::counter_wait_for_x(counter, i + 1, 30.0).do_progress(false).runtime(rt)();
      });
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
