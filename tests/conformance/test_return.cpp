// What posts return: allow_done, allow_posted, allow_retry, COMP_NULL, COMP_NULL_RETRY, and when
// an operation counts as complete (comp_semantic).
#include "tests/conformance/inbox.hpp"
#include "tests/conformance/window.hpp"

using namespace conf;

TEST_CASE("with allow_retry false a post never returns retry, and its message arrives", "[return]") {
  const size_t size = GENERATE(size_t{8}, size_t{3000}, size_t{30'000});
  INFO(size << " bytes");
  on_ranks([size](rank_env& env) {
    constexpr int count = 3000;
    inbox box(env, inbox_kind::counter, count);
    inbox local(env, inbox_kind::counter, 1, false);
    const auto rcomps = env.all_gather(box.rcomp());
    const auto out = message(size, 1);
    int posted = 0, retried = 0;
    // No progress meanwhile: lanes and queues become full and packets run out.
    for (int i = 0; i < count; ++i) {
      const auto s =
          lci::post_am_x(env.right(), out.data(), size, local.comp(), rcomps[static_cast<size_t>(env.right())])
              .allow_retry(false)
              .runtime(env.rt)();
      retried += s.is_retry();
      posted += s.is_posted();
    }
    EXPECT_EQ(retried, 0);
    box.collect();
    env.until("local completions", [&] {
      env.progress();
      return lci::counter_get_x(local.comp()).runtime(env.rt)() == posted;
    });
    env.barrier();
    EXPECT(box.empty());
  });
}

TEST_CASE("a post that returns retry has no effect", "[return]") {
  on_ranks([](rank_env& env) {
    inbox box(env, inbox_kind::queue_lcrq, 1);
    const auto rcomps = env.all_gather(box.rcomp());
    const auto out = message(4000, 1);
    size_t accepted = 0, retried = 0;
    for (int i = 0; i < 20'000 && retried < 100; ++i) {
      const auto s = lci::post_am_x(env.right(), out.data(), out.size(), lci::COMP_NULL_RETRY,
                                    rcomps[static_cast<size_t>(env.right())])
                         .runtime(env.rt)();
      EXPECT(!s.is_posted());
      accepted += s.is_done();
      retried += s.is_retry();
    }
    const auto sent = env.all_gather(accepted);
    for (size_t i = 0; i < sent[static_cast<size_t>(env.left())]; ++i)
      EXPECT_EQ(box.collect().front().data.size(), out.size());
    env.barrier();
    EXPECT(box.empty());
  });
}

TEST_CASE("a receive with allow_posted false waits until its message has arrived", "[return]") {
  on_ranks([](rank_env& env) {
    for (const size_t size : {size_t{8}, size_t{50'000}}) {
      const auto out = message(size, static_cast<uint64_t>(env.rank));
      std::vector<char> in(size);
      auto sync = lci::alloc_sync_x().runtime(env.rt)();
      auto sent = env.post([&] { return lci::post_send_x(env.right(), out.data(), size, 2, sync).runtime(env.rt)(); });
      const auto r = lci::post_recv_x(env.left(), in.data(), size, 2, lci::COMP_NULL).runtime(env.rt)();
      EXPECT(r.is_done());
      EXPECT_EQ(r.rank, env.left());
      EXPECT_EQ(r.size, size);
      EXPECT(matches(in.data(), size, static_cast<uint64_t>(env.left())));
      finished(env, sync, sent);
      lci::free_comp_x(&sync).runtime(env.rt)();
      env.barrier();
    }
  });
}

TEST_CASE("with allow_posted false a post returns done and signals no object, whatever allow_done is", "[return]") {
  const bool allow_done = GENERATE(true, false);
  INFO("allow_done " << allow_done);
  on_ranks([allow_done](rank_env& env) {
    inbox target(env, inbox_kind::counter, 1);
    inbox local(env, inbox_kind::counter, 1, false);
    const auto rcomps = env.all_gather(target.rcomp());
    for (const size_t size : {size_t{8}, size_t{3000}, size_t{50'000}}) {
      const auto out = message(size, 1);
      EXPECT(env.post([&] {
                  return lci::post_am_x(env.right(), out.data(), size, local.comp(),
                                        rcomps[static_cast<size_t>(env.right())])
                      .allow_posted(false)
                      .allow_done(allow_done)
                      .runtime(env.rt)();
                })
                 .is_done());
      target.collect();
      env.barrier();
      EXPECT(local.empty());  // it was done: no signal
    }
    EXPECT(lci::post_flush_x(lci::ALL_RANKS, local.comp())
               .allow_posted(false)
               .allow_done(allow_done)
               .runtime(env.rt)()
               .is_done());
    const uint64_t operand = 3;
    uint64_t word = 4, before = 0;
    lci::mr_t mr = lci::register_memory_x(&word, sizeof word).runtime(env.rt)();
    EXPECT(env.post([&] {
                return lci::post_atomic_x(env.rank, lci::atomic_op_t::add, &operand, &before, local.comp(), 0,
                                          lci::get_rmr_x(mr).runtime(env.rt)())
                    .allow_posted(false)
                    .allow_done(allow_done)
                    .runtime(env.rt)();
              })
               .is_done());
    EXPECT_EQ(word, uint64_t{7});
    lci::deregister_memory_x(&mr).runtime(env.rt)();
    EXPECT(local.empty());
  });
}

TEST_CASE("a post with COMP_NULL never returns retry or posted, one with COMP_NULL_RETRY never posted", "[return]") {
  on_ranks([](rank_env& env) {
    constexpr int count = 2000;
    inbox box(env, inbox_kind::counter, 2 * count);
    const auto rcomps = env.all_gather(box.rcomp());
    const auto out = message(2000, 1);
    auto post = [&](lci::comp_t comp) {
      return lci::post_am_x(env.right(), out.data(), out.size(), comp, rcomps[static_cast<size_t>(env.right())])
          .runtime(env.rt)();
    };
    int not_done = 0, posted = 0;
    for (int i = 0; i < count; ++i) {
      not_done += !post(lci::COMP_NULL).is_done();
      env.post([&] {
        const auto s = post(lci::COMP_NULL_RETRY);
        posted += s.is_posted();
        return s;
      });
    }
    EXPECT_EQ(not_done, 0);
    EXPECT_EQ(posted, 0);
    EXPECT(lci::COMP_NULL == lci::COMP_NULL_EXPECT_DONE);
    EXPECT(lci::COMP_NULL_RETRY == lci::COMP_NULL_EXPECT_DONE_OR_RETRY);
    box.collect();
    env.barrier();
    EXPECT(box.empty());
  });
}

TEST_CASE("the source buffer may be changed as soon as an operation is complete", "[return]") {
  const auto semantic =
      GENERATE(lci::comp_semantic_t::memory, lci::comp_semantic_t::network, lci::comp_semantic_t::remote);
  INFO("comp_semantic " << static_cast<int>(semantic));
  on_ranks([semantic](rank_env& env) {
    inbox box(env, inbox_kind::queue_lcrq, 1);
    const auto rcomps = env.all_gather(box.rcomp());
    auto sync = lci::alloc_sync_x().runtime(env.rt)();
    for (const size_t size : {size_t{8}, size_t{60}, size_t{3000}, size_t{50'000}}) {
      auto out = message(size, static_cast<uint64_t>(env.rank));
      const auto s = finished(env, sync, env.post([&] {
        return lci::post_am_x(env.right(), out.data(), size, sync, rcomps[static_cast<size_t>(env.right())])
            .comp_semantic(semantic)
            .runtime(env.rt)();
      }));
      EXPECT(s.is_done());
      std::memset(out.data(), 0xee, size);
      const auto a = box.collect().front();
      EXPECT(matches(a.data.data(), size, static_cast<uint64_t>(env.left())));
      env.barrier();
    }
    lci::free_comp_x(&sync).runtime(env.rt)();
  });
}

TEST_CASE("the target sees a remotely completed put without making progress", "[return]") {
  on_ranks([](rank_env& env) {
    window w(env, 150'000);
    auto sync = lci::alloc_sync_x().runtime(env.rt)();
    for (const size_t size : {size_t{8}, size_t{3000}, size_t{150'000}}) {
      w.clear();
      env.barrier();
      const auto out = message(size, size);
      const auto s = finished(env, sync, env.post([&] {
        return lci::post_put_x(env.right(), out.data(), size, sync, 0, w.of(env.right()))
            .comp_semantic(lci::comp_semantic_t::remote)
            .runtime(env.rt)();
      }));
      EXPECT(s.is_done());
      env.barrier();
      EXPECT(std::memcmp(w.data(), out.data(), size) == 0);
      env.barrier();
    }
    lci::free_comp_x(&sync).runtime(env.rt)();
  });
}
