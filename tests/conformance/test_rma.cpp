// Put and get without signals: the right bytes at the right place, whatever the size.
#include "tests/conformance/inbox.hpp"
#include "tests/conformance/window.hpp"

using namespace conf;

TEST_CASE("a put of any size writes exactly its bytes", "[rma]") {
  const bool registered = GENERATE(false, true);
  INFO("local buffer registered: " << registered);
  on_ranks(
      [registered](rank_env& env) {
        constexpr size_t disp = 96;
        const auto sizes = interesting_sizes(env);
        window w(env, sizes.back() + 2 * disp);
        auto sync = lci::alloc_sync_x().runtime(env.rt)();
        for (const size_t size : sizes) {
          w.clear();
          env.barrier();
          auto out = message(size, size + static_cast<uint64_t>(env.rank));
          lci::mr_t mr;
          if (registered && size > 0) mr = lci::register_memory_x(out.data(), size).runtime(env.rt)();
          const auto s = finished(env, sync, env.post([&] {
            return lci::post_put_x(env.right(), out.data(), size, sync, disp, w.of(env.right()))
                .mr(mr)
                .comp_semantic(lci::comp_semantic_t::remote)
                .runtime(env.rt)();
          }));
          EXPECT(s.is_done());
          EXPECT_EQ(s.rank, env.right());
          EXPECT_EQ(s.size, size);
          env.barrier();
          EXPECT(matches(w.data() + disp, size, size + static_cast<uint64_t>(env.left())));
          EXPECT(w.untouched_but(disp, size));
          if (!mr.is_empty()) lci::deregister_memory_x(&mr).runtime(env.rt)();
          env.barrier();
        }
        lci::free_comp_x(&sync).runtime(env.rt)();
      },
      with_small_chunks);
}

TEST_CASE("a get of any size reads the target's bytes", "[rma]") {
  on_ranks(
      [](rank_env& env) {
        constexpr size_t disp = 33;
        const auto sizes = interesting_sizes(env);
        window w(env, sizes.back() + 2 * disp);
        fill(w.data(), w.size(), static_cast<uint64_t>(env.rank));
        env.barrier();
        auto sync = lci::alloc_sync_x().runtime(env.rt)();
        for (const size_t size : sizes) {
          guarded in(size);
          const auto s = finished(env, sync, env.post([&] {
            return lci::post_get_x(env.right(), in.data(), size, sync, disp, w.of(env.right())).runtime(env.rt)();
          }));
          EXPECT(s.is_done());
          EXPECT_EQ(s.rank, env.right());
          EXPECT_EQ(s.size, size);
          EXPECT(matches(in.data(), size, static_cast<uint64_t>(env.right()), disp));
          EXPECT(in.intact(size));
        }
        lci::free_comp_x(&sync).runtime(env.rt)();
        env.barrier();
      },
      with_small_chunks);
}

TEST_CASE("puts and gets complete through any object", "[rma]") {
  const auto kind = GENERATE(from_range(all_inbox_kinds()));
  const bool allow_done = GENERATE(true, false);
  INFO(name_of(kind) << ", allow_done " << allow_done);
  on_ranks([kind, allow_done](rank_env& env) {
    inbox box(env, kind, 1, false);
    window w(env, 100'000);
    int me = 0;
    for (const size_t size : {size_t{8}, size_t{5000}, size_t{100'000}}) {
      const auto out = message(size, size + static_cast<uint64_t>(env.rank));
      std::vector<char> back(size);
      for (const bool put : {true, false}) {
        auto s = env.post([&] {
          if (put)
            return lci::post_put_x(env.right(), out.data(), size, box.comp(), 0, w.of(env.right()))
                .user_context(&me)
                .comp_semantic(lci::comp_semantic_t::remote)
                .allow_done(allow_done)
                .runtime(env.rt)();
          return lci::post_get_x(env.right(), back.data(), size, box.comp(), 0, w.of(env.right()))
              .user_context(&me)
              .allow_done(allow_done)
              .runtime(env.rt)();
        });
        if (!allow_done) EXPECT(s.is_posted());
        const bool told = s.is_done() || box.tells_status();
        if (!s.is_done()) s = box.collect().front().status;
        if (told) {
          EXPECT_EQ(s.rank, env.right());
          EXPECT_EQ(s.size, size);
          EXPECT(s.user_context == &me);
        }
      }
      EXPECT(back == out);
      env.barrier();
      EXPECT(box.empty());
    }
  });
}

TEST_CASE("with COMP_NULL a put or get returns when it is complete", "[rma]") {
  on_ranks([](rank_env& env) {
    window w(env, 300'000);
    for (const size_t size : {size_t{8}, size_t{5000}, size_t{300'000}}) {
      const auto out = message(size, size + static_cast<uint64_t>(env.rank));
      std::vector<char> back(size);
      EXPECT(lci::post_put_x(env.right(), out.data(), size, lci::COMP_NULL, 0, w.of(env.right()))
                 .comp_semantic(lci::comp_semantic_t::remote)
                 .runtime(env.rt)()
                 .is_done());
      EXPECT(lci::post_get_x(env.right(), back.data(), size, lci::COMP_NULL, 0, w.of(env.right()))
                 .runtime(env.rt)()
                 .is_done());
      EXPECT(back == out);
      env.barrier();
    }
  });
}

TEST_CASE("a remote key that was sent as bytes of a message gives access to the memory", "[rma]") {
  on_ranks([](rank_env& env) {
    std::vector<char> memory(4096, 'x');
    auto mr = lci::register_memory_x(memory.data(), memory.size()).runtime(env.rt)();
    inbox box(env, inbox_kind::queue_lcrq, 1);
    const auto rcomps = env.all_gather(box.rcomp());
    const lci::rmr_t mine = lci::get_rmr_x(mr).runtime(env.rt)();
    EXPECT(!mine.is_empty());
    EXPECT(lci::RMR_NULL.is_empty());
    env.post([&] {  // sends this rank's key to the left neighbour
      return lci::post_am_x(env.left(), &mine, sizeof mine, lci::COMP_NULL, rcomps[static_cast<size_t>(env.left())])
          .runtime(env.rt)();
    });
    const auto arrived = box.collect();
    lci::rmr_t theirs;
    EXPECT_EQ(arrived[0].data.size(), sizeof theirs);
    std::memcpy(&theirs, arrived[0].data.data(), sizeof theirs);
    EXPECT_EQ(theirs.size(), uint64_t{4096});
    const auto out = message(1000, static_cast<uint64_t>(env.rank));
    EXPECT(lci::post_put_x(env.right(), out.data(), out.size(), lci::COMP_NULL, 1000, theirs)
               .comp_semantic(lci::comp_semantic_t::remote)
               .runtime(env.rt)()
               .is_done());
    env.barrier();
    EXPECT(matches(memory.data() + 1000, 1000, static_cast<uint64_t>(env.left())));
    lci::deregister_memory_x(&mr).runtime(env.rt)();
    EXPECT(mr.is_empty());
  });
}

TEST_CASE("memory can be registered and deregistered thousands of times", "[rma]") {
  on_ranks([](rank_env& env) {
    std::vector<char> memory(1 << 16);
    std::vector<lci::mr_t> many;
    for (int round = 0; round < 20; ++round) {
      for (int i = 0; i < 100; ++i)
        many.push_back(lci::register_memory_x(memory.data() + i * 64, size_t{64} * 8).runtime(env.rt)());
      for (auto& mr : many) lci::deregister_memory_x(&mr).runtime(env.rt)();
      many.clear();
    }
    window w(env, 64);
    const uint64_t value = 77 + static_cast<uint64_t>(env.rank);
    EXPECT(lci::post_put_x(env.right(), &value, sizeof value, lci::COMP_NULL, 0, w.of(env.right()))
               .comp_semantic(lci::comp_semantic_t::remote)
               .runtime(env.rt)()
               .is_done());
    env.barrier();
    uint64_t got;
    std::memcpy(&got, w.data(), sizeof got);
    EXPECT_EQ(got, 77 + static_cast<uint64_t>(env.left()));
  });
}
