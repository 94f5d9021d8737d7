// Flow control: a sender that is faster than its receivers has to wait, and no message is lost.
#include <atomic>
#include <ctime>

#include "tests/conformance/inbox.hpp"
#include "tests/conformance/pattern.hpp"
#include "tests/conformance/window.hpp"

using namespace conf;

namespace {

constexpr size_t bound = 64 << 10;
void with_small_bound(lci::global_attr_t& attr) { attr.unexpected_bytes = bound; }
void with_small_backlog(lci::global_attr_t& attr) { attr.backlog_bytes = bound; }

constexpr size_t size_of_each = 1000;

/// Receives `n` messages of the left neighbour, whose tags count up from `first`, and checks their contents.
void receive_all(rank_env& env, uint64_t n, lci::tag_t first = 0) {
  auto sync = lci::alloc_sync_x().runtime(env.rt)();
  std::vector<char> in(size_of_each);
  for (uint64_t i = 0; i < n; ++i) {
    const auto s = finished(env, sync, env.post([&] {
      return lci::post_recv_x(env.left(), in.data(), in.size(), first + i, sync).runtime(env.rt)();
    }));
    EXPECT(s.is_done());
    EXPECT(matches(in.data(), in.size(), first + i));
  }
  lci::free_comp_x(&sync).runtime(env.rt)();
}

struct loop_until_done {
  lci::runtime_t rt;
  lci::rcomp_t sink;
  int left = 0;
  std::atomic<int> handled{0};
};
loop_until_done loops[64];

/// Answers each message by many, each posted again until it is accepted.
void floods(lci::status_t s) {
  loop_until_done& l = loops[rank_env::mine().rank];
  static const std::vector<char> out(3000, 'x');
  for (int i = 0; i < l.left; ++i)
    while (lci::post_am_x(s.rank, out.data(), out.size(), lci::COMP_NULL_RETRY, l.sink).runtime(l.rt)().is_retry()) {
    }
  ++l.handled;
}

}  // namespace

TEST_CASE("a sender whose target does not receive has to wait, and loses nothing", "[sendrecv][flow]") {
  on_ranks(
      [](rank_env& env) {
        // The last rank does not send: if all ranks of the ring sent, they would wait for each other.
        const bool sends = env.rank + 1 < env.size, receives = env.rank > 0;
        constexpr uint64_t most = 400'000;  // far more than the bound, and than a network accepts
        uint64_t sent = 0;
        if (sends) {
          // Each round of progress without a message yields the processor, which takes long on a busy machine.
          const double end = rank_env::now() + 1;
          int refused = 0;
          bool was_refused = false;
          while (refused < 2000 && sent < most && rank_env::now() < end) {
            const auto out = message(size_of_each, sent);
            const auto s =
                lci::post_send_x(env.right(), out.data(), out.size(), sent, lci::COMP_NULL_RETRY).runtime(env.rt)();
            if (s.is_retry()) {
              ++refused;
              was_refused = true;
              env.progress();
            } else {
              refused = 0;
              ++sent;
            }
          }
          EXPECT(was_refused);
          EXPECT(sent < most);
        }
        // Makes progress, without receiving, until the senders have stopped.
        const auto all = env.all_gather(sent);
        EXPECT_EQ(all.back(), 0u);
        if (receives) receive_all(env, all[static_cast<size_t>(env.left())]);
        env.barrier();
        // Now the target receives, so sends are accepted again.
        if (sends)
          for (lci::tag_t tag = most; tag < most + 20; ++tag) {
            const auto out = message(size_of_each, tag);
            env.post([&] {
              return lci::post_send_x(env.right(), out.data(), out.size(), tag, lci::COMP_NULL_RETRY).runtime(env.rt)();
            });
          }
        if (receives) receive_all(env, 20, most);
        env.barrier();
      },
      with_small_bound);
}

TEST_CASE("a send returns retry now and then if its thread makes no progress, whatever its size", "[sendrecv][flow]") {
  const size_t size = GENERATE(8, 1000, 4000);
  INFO("messages of " << size << " bytes");
  on_ranks([size](rank_env& env) {
    constexpr uint64_t most = 1024;  // sends without progress; other networks than tcp accept fewer
    uint64_t sent = 0;
    if (env.rank == 0) {
      const std::vector<char> out(size, 'x');
      while (sent <= most && !lci::post_send_x(env.right(), out.data(), out.size(), sent, lci::COMP_NULL_RETRY)
                                  .runtime(env.rt)()
                                  .is_retry())
        ++sent;
      EXPECT(sent <= most);
    }
    const auto all = env.all_gather(sent);
    if (env.left() == 0) {
      auto sync = lci::alloc_sync_x().runtime(env.rt)();
      std::vector<char> in(size);
      for (uint64_t i = 0; i < all[0]; ++i)
        EXPECT(finished(env, sync, env.post([&] {
                 return lci::post_recv_x(0, in.data(), in.size(), i, sync).runtime(env.rt)();
               })).is_done());
      lci::free_comp_x(&sync).runtime(env.rt)();
    }
    env.barrier();
  });
}

TEST_CASE("two ranks that send more than may wait before they receive do not deadlock", "[sendrecv][flow]") {
  const bool blocking = GENERATE(false, true);
  INFO("posts forbid retry: " << blocking);
  on_ranks(
      [blocking](rank_env& env) {
        // In pairs; a rank without a partner sends to itself.
        const int other = env.rank % 2 == 1 ? env.rank - 1 : env.rank + 1 < env.size ? env.rank + 1 : env.rank;
        constexpr uint64_t n = 20 * bound / size_of_each;
        auto sync = lci::alloc_sync_x().runtime(env.rt)();
        for (uint64_t i = 0; i < n; ++i) {
          const auto out = message(size_of_each, i);
          env.post([&] {
            return lci::post_send_x(other, out.data(), out.size(), i, blocking ? lci::COMP_NULL : lci::COMP_NULL_RETRY)
                .runtime(env.rt)();
          });
        }
        std::vector<char> in(size_of_each);
        for (uint64_t i = 0; i < n; ++i) {
          const auto s = finished(env, sync, env.post([&] {
            return lci::post_recv_x(other, in.data(), in.size(), i, sync).runtime(env.rt)();
          }));
          EXPECT(s.is_done());
          EXPECT(matches(in.data(), in.size(), i));
        }
        env.barrier();
        lci::free_comp_x(&sync).runtime(env.rt)();
      },
      with_small_bound);
}

TEST_CASE("ranks of a ring that all send more than may wait before they receive do not deadlock", "[sendrecv][flow]") {
  const bool blocking = GENERATE(false, true);
  INFO("posts forbid retry: " << blocking);
  on_ranks(
      [blocking](rank_env& env) {
        constexpr uint64_t n = 10 * bound / size_of_each;
        for (uint64_t i = 0; i < n; ++i) {
          const auto out = message(size_of_each, i);
          env.post([&] {
            return lci::post_send_x(env.right(), out.data(), out.size(), i,
                                    blocking ? lci::COMP_NULL : lci::COMP_NULL_RETRY)
                .runtime(env.rt)();
          });
        }
        receive_all(env, n);
        env.barrier();
      },
      with_small_bound);
}

TEST_CASE("a loop on retry inside a handler ends", "[handlers][flow]") {
  on_ranks(
      [](rank_env& env) {
        loop_until_done& l = loops[env.rank];
        l.rt = env.rt;
        l.left = 200;
        l.handled = 0;
        std::atomic<int> got{0};
        struct count_comp final : lci::comp_impl_t {
          std::atomic<int>& got;
          explicit count_comp(std::atomic<int>& g) : got(g) { attr.am_in_place = true; }
          void signal(lci::status_t) override { ++got; }
        } sink(got);
        auto handler = lci::alloc_handler_x(floods).am_in_place(true).runtime(env.rt)();
        const auto flood = lci::register_rcomp_x(handler).runtime(env.rt)();
        l.sink = lci::register_rcomp_x(lci::comp_t(&sink)).runtime(env.rt)();
        const auto flood_of_right = env.all_gather(flood)[static_cast<size_t>(env.right())];
        const auto sinks = env.all_gather(l.sink);
        for (const auto each : sinks) EXPECT_EQ(each, l.sink);  // registered in the same order
        constexpr int asked = 10;
        const char byte = 1;
        for (int i = 0; i < asked; ++i)
          env.post([&] {
            return lci::post_am_x(env.right(), &byte, 1, lci::COMP_NULL_RETRY, flood_of_right).runtime(env.rt)();
          });
        env.until("all questions and answers",
                  [&] { return got.load() == asked * l.left && l.handled.load() == asked; });
        EXPECT(true);
        env.barrier();
        lci::deregister_rcomp_x(flood).runtime(env.rt)();
        lci::deregister_rcomp_x(l.sink).runtime(env.rt)();
        lci::free_comp_x(&handler).runtime(env.rt)();
      },
      with_small_backlog);
}

TEST_CASE("posts that forbid retry make progress instead of queueing messages without bound", "[am][flow]") {
  on_ranks(
      [](rank_env& env) {
        inbox box(env, inbox_kind::counter, 1);
        const auto rcomp = env.all_gather(box.rcomp())[static_cast<size_t>(env.right())];
        const auto out = message(3000, 1);
        constexpr int n = 3000;  // many times as many as may wait
        for (int i = 0; i < n; ++i) {
          const auto s = lci::post_am_x(env.right(), out.data(), out.size(), lci::COMP_NULL, rcomp).runtime(env.rt)();
          EXPECT(s.is_done());
        }
        env.until("all messages", [&] { return lci::counter_get_x(box.comp()).runtime(env.rt)() == n; });
        env.barrier();
      },
      with_small_backlog);
}

TEST_CASE("a rank that makes no progress does not keep messages from others", "[flow]") {
  if (rank_count() < 3) LCI_SKIP("two ranks have no others");
  const size_t size = GENERATE(size_t{100}, size_t{4000}, size_t{100'000});
  on_ranks([=](rank_env& env) {
    window w(env, 10'000);
    const auto key = w.of(1);
    inbox box(env, inbox_kind::counter, 30);
    const auto sink = env.all_gather(box.rcomp());
    lci::barrier_x().runtime(env.rt)();  // some networks connect ranks that poll only
    env.barrier();
    if (env.rank == 0) {
      const std::vector<char> out(100'000, 'x');
      auto sync = lci::alloc_sync_x().runtime(env.rt)();
      auto ends = lci::alloc_counter_x().runtime(env.rt)();
      int64_t posted = 0;
      // Until the network, or the backlog, takes nothing more for the rank that is at rest.
      const auto begin = rank_env::now();
      for (int refused = 0; refused < 1000 && rank_env::now() < begin + 1;) {
        const bool puts = size == 4000 && posted % 2 == 1;
        const auto s = puts ? lci::post_put_x(1, out.data(), size, ends, 0, key).runtime(env.rt)()
                            : lci::post_am_x(1, out.data(), size, ends, sink[1]).runtime(env.rt)();
        posted += s.is_posted();
        refused = s.is_retry() ? refused + 1 : 0;
        if (s.is_retry()) env.progress();
      }
      for (int i = 0; i < 30; ++i) {
        const auto s = env.post([&] {
          return lci::post_am_x(2, out.data(),
                                i % 3 == 0   ? out.size()
                                : i % 3 == 1 ? 4000
                                             : 8,
                                sync, sink[2])
              .comp_semantic(lci::comp_semantic_t::remote)
              .runtime(env.rt)();
        });
        EXPECT(finished(env, sync, s).is_done());
      }
      env.barrier_at_rest();
      env.until("the others to end", [&] { return lci::counter_get_x(ends).runtime(env.rt)() == posted; });
      lci::free_comp_x(&ends).runtime(env.rt)();
      lci::free_comp_x(&sync).runtime(env.rt)();
    } else {
      if (env.rank == 2) (void)box.collect();
      env.barrier_at_rest();
    }
    env.barrier();
  });
}

TEST_CASE("a thread that waits sleeps although a rank takes no more of what waits for it", "[flow]") {
  if (rank_count() < 2 || ranks_in_one_process()) LCI_SKIP("processes show how much time each uses");
  on_ranks(
      [](rank_env& env) {
        constexpr int n = 10'000;
        inbox box(env, inbox_kind::counter, n);
        const auto sink = env.all_gather(box.rcomp());
        lci::barrier_x().runtime(env.rt)();  // some networks connect ranks that poll only
        env.barrier();
        if (env.rank == 0) {
          const std::vector<char> out(4000, 'x');
          for (int i = 0; i < n; ++i)
            EXPECT(lci::post_am_x(1, out.data(), out.size(), lci::COMP_NULL_RETRY, sink[1])
                       .allow_retry(false)
                       .runtime(env.rt)()
                       .is_done());
          auto never = lci::alloc_sync_x().runtime(env.rt)();
          const auto used = [] { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; };
          const double before = used(), begin = rank_env::now();
          EXPECT(!lci::sync_wait_for_x(never, 1, nullptr).runtime(env.rt)());
          EXPECT(used() - before < (rank_env::now() - begin) / 2);
          lci::free_comp_x(&never).runtime(env.rt)();
        }
        env.barrier_at_rest();
        if (env.rank == 1) (void)box.collect();
        env.barrier();
      },
      [](lci::global_attr_t& attr) { attr.backlog_bytes = 64 << 20; });
}

TEST_CASE("a post with a deadline waits no longer for a rank that receives nothing", "[flow][cancel]") {
  if (rank_count() < 2) LCI_SKIP("a single rank has no peer");
  const bool of_backlog = GENERATE(false, true);
  on_ranks(
      [=](rank_env& env) {
        constexpr double seconds = 0.02 * lci_test::time_scale;
        constexpr uint64_t most = 20'000;  // more than most networks accept
        inbox box(env, inbox_kind::counter, 1);
        const auto sink = env.all_gather(box.rcomp());
        lci::barrier_x().runtime(env.rt)();  // some networks connect ranks that poll only
        env.barrier();
        uint64_t posted = 0;
        if (env.rank == 0) {
          std::vector<char> out(size_of_each);
          for (int waited = 0; posted < most && waited < 3; ++posted) {
            fill(out.data(), out.size(), posted);
            const double begin = rank_env::now();
            const auto s = of_backlog ? lci::post_am_x(env.right(), out.data(), out.size(), lci::COMP_NULL_RETRY,
                                                       sink[static_cast<size_t>(env.right())])
                                            .allow_retry(false)
                                            .deadline(seconds)
                                            .runtime(env.rt)()
                                      : lci::post_send_x(env.right(), out.data(), out.size(), posted, lci::COMP_NULL)
                                            .deadline(seconds)
                                            .runtime(env.rt)();
            const double took = rank_env::now() - begin;
            EXPECT(s.is_done());
            EXPECT(took < 100 * seconds);
            waited += took >= seconds;
          }
        }
        // A pause is a message of the target, whose progress it needs; the backlog fills only without that progress.
        of_backlog ? env.barrier_at_rest() : env.barrier();
        const uint64_t n = env.all_gather(posted)[0];
        if (env.rank == 1 && !of_backlog) receive_all(env, n);
        if (env.rank == 1 && of_backlog)
          for (uint64_t i = 0; i < n; ++i) (void)box.collect();
        env.barrier();
      },
      [=](lci::global_attr_t& attr) { of_backlog ? with_small_backlog(attr) : with_small_bound(attr); });
}
