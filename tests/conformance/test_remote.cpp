// Completion at the target: comp_semantic remote, and flushes.
#include <atomic>
#include <cstdlib>

#include "tests/conformance/inbox.hpp"
#include "tests/conformance/window.hpp"

using namespace conf;

namespace {

std::atomic<uint64_t> handled{0};  // counts for all ranks of this process

void count(lci::status_t status) {
  if (status.size > 0) std::free(status.buffer);
  handled.fetch_add(1);
}

constexpr auto remote = lci::comp_semantic_t::remote;

}  // namespace

TEST_CASE("an active message that is remotely complete has been handled", "[remote]") {
  on_ranks(
      [](rank_env& env) {
        // A rank sends to itself, since it can observe whether its own handler has run.
        auto handler = lci::alloc_handler_x(count).runtime(env.rt)();
        const auto rcomp = lci::register_rcomp_x(handler).runtime(env.rt)();
        auto sync = lci::alloc_sync_x().runtime(env.rt)();
        const bool alone = !ranks_in_one_process() || env.size == 1;
        for (const size_t size : interesting_sizes(env)) {
          const auto out = message(size, size);
          const uint64_t before = handled.load();
          const auto s = finished(env, sync, env.post([&] {
            return lci::post_am_x(env.rank, size == 0 ? nullptr : out.data(), size, sync, rcomp)
                .comp_semantic(remote)
                .runtime(env.rt)();
          }));
          EXPECT(s.is_done());
          EXPECT_EQ(s.size, size);
          EXPECT(handled.load() > before);
          if (alone) EXPECT_EQ(handled.load(), before + 1);
        }
        lci::free_comp_x(&sync).runtime(env.rt)();
        env.barrier();
        lci::deregister_rcomp_x(rcomp).runtime(env.rt)();
        lci::free_comp_x(&handler).runtime(env.rt)();
      },
      with_small_chunks);
}

TEST_CASE("any number of remotely completed messages between ranks arrive whole", "[remote]") {
  on_ranks(
      [](rank_env& env) {
        auto cq = lci::alloc_cq_x().runtime(env.rt)();
        const auto mine = lci::register_rcomp_x(cq).runtime(env.rt)();
        const auto rcomp = env.all_gather(mine)[static_cast<size_t>(env.right())];
        auto counter = lci::alloc_counter_x().runtime(env.rt)();
        const auto sizes = interesting_sizes(env);
        int64_t posted = 0;
        std::vector<std::vector<char>> out;
        for (const size_t size : sizes) {
          out.push_back(message(size, size + static_cast<uint64_t>(env.rank)));
          const auto s = env.post([&] {
            return lci::post_am_x(env.right(), size == 0 ? nullptr : out.back().data(), size, counter, rcomp)
                .comp_semantic(remote)
                .tag(size)
                .runtime(env.rt)();
          });
          posted += s.is_posted();
        }
        size_t got = 0;
        env.until("all to be handled and acknowledged", [&] {
          for (lci::status_t m; (m = lci::cq_pop_x(cq).runtime(env.rt)()).is_done(); ++got) {
            EXPECT_EQ(m.size, m.tag);
            EXPECT(matches(m.buffer, m.size, m.tag + static_cast<uint64_t>(env.left())));
            std::free(m.buffer);
          }
          return got == sizes.size() && lci::counter_get_x(counter).runtime(env.rt)() == posted;
        });
        env.until("the last acks to leave", [&] { return lci::test_drained_x().runtime(env.rt)().is_done(); });
        env.barrier();
        lci::deregister_rcomp_x(mine).runtime(env.rt)();
        lci::free_comp_x(&cq).runtime(env.rt)();
        lci::free_comp_x(&counter).runtime(env.rt)();
      },
      with_small_chunks);
}

TEST_CASE("a send that is remotely complete has been received", "[remote]") {
  const bool late = GENERATE(true, false);
  INFO("the receive is posted " << (late ? "after" : "before") << " the message arrives");
  on_ranks(
      [late](rank_env& env) {
        auto sent = lci::alloc_sync_x().runtime(env.rt)();
        auto received = lci::alloc_sync_x().runtime(env.rt)();
        for (const size_t size : interesting_sizes(env)) {
          const auto out = message(size, size + static_cast<uint64_t>(env.rank));
          guarded in(size);
          const auto receive = [&] {
            return env.post(
                [&] { return lci::post_recv_x(env.left(), in.data(), size, 3, received).runtime(env.rt)(); });
          };
          lci::status_t r;
          if (!late) r = receive();
          env.barrier();
          auto s = env.post([&] {
            return lci::post_send_x(env.right(), size == 0 ? nullptr : out.data(), size, 3, sent)
                .comp_semantic(remote)
                .runtime(env.rt)();
          });
          EXPECT(s.is_posted());
          if (late) {
            // No receive is posted yet.
            env.barrier();
            for (int i = 0; i < 200; ++i) env.progress();
            EXPECT(!lci::sync_test_x(sent, &s).runtime(env.rt)());
            env.barrier();
            r = receive();
          }
          s = finished(env, sent, s);
          EXPECT(s.is_done());
          EXPECT_EQ(s.size, size);
          r = finished(env, received, r);
          EXPECT_EQ(r.size, size);
          EXPECT(matches(in.data(), size, size + static_cast<uint64_t>(env.left())));
        }
        lci::free_comp_x(&sent).runtime(env.rt)();
        lci::free_comp_x(&received).runtime(env.rt)();
        env.barrier();
      },
      with_small_chunks);
}

TEST_CASE("when a flush ends, all puts before it are in the target's memory", "[remote]") {
  const bool all_ranks = GENERATE(false, true);
  INFO("all ranks: " << all_ranks);
  on_ranks(
      [all_ranks](rank_env& env) {
        constexpr size_t n = 40, piece = 3000;
        window w(env, n * piece);
        w.clear();
        env.barrier();
        auto counter = lci::alloc_counter_x().runtime(env.rt)();
        auto sync = lci::alloc_sync_x().runtime(env.rt)();
        const auto out = message(n * piece, static_cast<uint64_t>(env.rank));
        const int to = env.right();
        int64_t posted = 0;
        for (size_t i = 0; i < n; ++i) {
          const auto s = env.post([&] {
            return lci::post_put_x(to, out.data() + i * piece, piece, counter, i * piece, w.of(to)).runtime(env.rt)();
          });
          posted += s.is_posted();
        }
        const auto s = finished(env, sync, env.post([&] {
          return lci::post_flush_x(all_ranks ? lci::ALL_RANKS : to, sync).user_context(&env).runtime(env.rt)();
        }));
        EXPECT(s.is_done());
        EXPECT_EQ(s.rank, all_ranks ? lci::ALL_RANKS : to);
        EXPECT(s.user_context == &env);
        EXPECT_EQ(lci::counter_get_x(counter).runtime(env.rt)(), posted);
        std::vector<char> back(n * piece);
        finished(env, sync, env.post([&] {
          return lci::post_get_x(to, back.data(), back.size(), sync, 0, w.of(to)).runtime(env.rt)();
        }));
        EXPECT(back == out);
        lci::free_comp_x(&counter).runtime(env.rt)();
        lci::free_comp_x(&sync).runtime(env.rt)();
        env.barrier();
      },
      with_small_chunks);
}

TEST_CASE("a flush ends although more operations are being posted", "[remote]") {
  on_ranks([](rank_env& env) {
    constexpr size_t size = 5000;
    window w(env, size);
    auto counter = lci::alloc_counter_x().runtime(env.rt)();
    auto sync = lci::alloc_sync_x().runtime(env.rt)();
    const auto out = message(size, 1);
    int64_t posted = 0;
    const auto keep_busy = [&](int64_t most) {
      while (posted - lci::counter_get_x(counter).runtime(env.rt)() < most) {
        const auto s = lci::post_put_x(env.right(), out.data(), size, counter, 0, w.of(env.right())).runtime(env.rt)();
        posted += s.is_posted();
        if (!s.is_posted()) break;  // done immediately, or retry
      }
    };
    for (int i = 0; i < 20; ++i) {
      keep_busy(6);
      lci::status_t s = lci::post_flush_x(env.right(), sync).runtime(env.rt)();
      if (s.is_posted())
        env.until("the flush to end", [&] {
          keep_busy(6);
          return lci::sync_test_x(sync, &s).runtime(env.rt)();
        });
      EXPECT(s.is_done());
    }
    env.until("all to end", [&] { return lci::counter_get_x(counter).runtime(env.rt)() == posted; });
    lci::free_comp_x(&counter).runtime(env.rt)();
    lci::free_comp_x(&sync).runtime(env.rt)();
    env.barrier();
  });
}

TEST_CASE("a flush waits for messages with remote completion", "[remote]") {
  on_ranks([](rank_env& env) {
    auto sent = lci::alloc_counter_x().runtime(env.rt)();
    auto flushed = lci::alloc_sync_x().runtime(env.rt)();
    char in = 0;
    const char out = 'x';
    env.post([&] { return lci::post_send_x(env.right(), &out, 1, 9, sent).comp_semantic(remote).runtime(env.rt)(); });
    lci::status_t s = lci::post_flush_x(env.right(), flushed).runtime(env.rt)();
    EXPECT(s.is_posted());
    for (int i = 0; i < 200; ++i) env.progress();
    EXPECT(!lci::sync_test_x(flushed, &s).runtime(env.rt)());
    env.barrier();  // no rank receives before this point
    env.post([&] { return lci::post_recv_x(env.left(), &in, 1, 9, lci::COMP_NULL).runtime(env.rt)(); });
    s = finished(env, flushed, s);
    EXPECT(s.is_done());
    EXPECT_EQ(lci::counter_get_x(sent).runtime(env.rt)(), int64_t{1});
    EXPECT(lci::post_flush_x(lci::ALL_RANKS, flushed).runtime(env.rt)().is_done());  // nothing left
    // Without allow_done the completion object is signalled although nothing is left; a blocking flush just returns.
    s = lci::post_flush_x(env.right(), flushed).allow_done(false).runtime(env.rt)();
    EXPECT(s.is_posted());
    EXPECT(finished(env, flushed, s).is_done());
    EXPECT(lci::post_flush_x(env.right(), lci::COMP_NULL).runtime(env.rt)().is_done());
    lci::free_comp_x(&sent).runtime(env.rt)();
    lci::free_comp_x(&flushed).runtime(env.rt)();
    env.barrier();
  });
}

TEST_CASE("a flush to a rank that does not exist is refused", "[remote]") {
  on_ranks([](rank_env& env) {
    EXPECT_INVALID(lci::post_flush_x(env.size, lci::COMP_NULL).runtime(env.rt)(), "rank", std::to_string(env.size));
    EXPECT_INVALID(lci::post_flush_x(-2, lci::COMP_NULL).runtime(env.rt)(), "rank", "ALL_RANKS");
  });
}

TEST_CASE("a device is freed with a flush that can't end", "[remote]") {
  on_ranks([](rank_env& env) {
    auto sync = lci::alloc_sync_x().runtime(env.rt)();
    auto ended = lci::alloc_sync_x().runtime(env.rt)();
    auto device = lci::alloc_device_x().runtime(env.rt)();
    env.barrier();
    const char out = 'x';
    const auto s = env.post(
        device, [&] { return lci::post_send_x(env.right(), &out, 1, 9, sync).comp_semantic(remote).device(device)(); });
    EXPECT(s.is_posted());
    EXPECT(lci::post_flush_x(env.right(), sync).device(device)().is_posted());
    EXPECT(lci::post_flush_x(env.right(), ended).device(device).deadline(3600)().is_posted());
    env.barrier();
    lci::free_device_x(&device).runtime(env.rt)();
    EXPECT(device.is_empty());
    lci::status_t end;
    EXPECT(lci::sync_test_x(ended, &end).runtime(env.rt)());
    // If a progress thread learns that the neighbour has freed its device first, that ends the send, and so the flush.
    EXPECT(end.error == lci::errorcode_t::cancelled || end.is_done());
    lci::free_comp_x(&ended).runtime(env.rt)();
    lci::free_comp_x(&sync).runtime(env.rt)();
    env.barrier();
  });
}
