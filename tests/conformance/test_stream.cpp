// Streams: active messages are delivered in the order of their posts.
#include <sched.h>

#include <atomic>
#include <cstdlib>
#include <stdexcept>

#include "tests/conformance/harness.hpp"
#include "tests/conformance/pattern.hpp"

using namespace conf;

namespace {

/// Receives one stream of each rank. Tags number the messages, and their contents depend on the number.
/// The state of a source needs no lock, since messages of one stream are never delivered concurrently.
class ordered_inbox final : public lci::comp_impl_t {
 public:
  explicit ordered_inbox(rank_env& e, bool in_place = false) : env(e), sources(static_cast<size_t>(e.size)) {
    attr.am_in_place = in_place;
    rcomp = lci::register_rcomp_x(lci::comp_t(this)).runtime(env.rt)();
    all = env.all_gather(rcomp);
  }
  ~ordered_inbox() override { lci::deregister_rcomp_x(rcomp).runtime(env.rt)(); }

  void signal(lci::status_t s) override {
    source& from = sources[static_cast<size_t>(s.rank)];
    EXPECT(!from.busy.exchange(true));
    EXPECT_EQ(s.tag, from.next);
    EXPECT(matches(s.buffer, s.size, s.tag + static_cast<uint64_t>(s.rank)));
    ++from.next;
    if (!attr.am_in_place && s.size > 0) std::free(s.buffer);
    from.busy.store(false);
    const bool throws = throw_at != 0 && from.next % throw_at == 0;
    from.count.fetch_add(1);
    if (throws) throw std::runtime_error("a handler's own");
  }

  uint64_t got(int rank) const { return sources[static_cast<size_t>(rank)].count.load(); }
  uint64_t got_all() const {
    uint64_t n = 0;
    for (const source& s : sources) n += s.count.load();
    return n;
  }

  uint64_t throw_at = 0;
  lci::rcomp_t rcomp;
  std::vector<lci::rcomp_t> all;

 private:
  struct source {
    std::atomic<bool> busy{false};
    uint64_t next = 0;
    std::atomic<uint64_t> count{0};
  };
  rank_env& env;
  std::vector<source> sources;
};

/// Posts messages and keeps their payloads until they have been sent.
struct outbox {
  outbox(rank_env& e) : env(e), counter(lci::alloc_counter_x().runtime(e.rt)()) {}
  ~outbox() { lci::free_comp_x(&counter).runtime(env.rt)(); }

  /// One post; `number` is also the seed.
  lci::status_t post(const ordered_inbox& to, lci::stream_t stream, int rank, uint64_t number, size_t size,
                     lci::device_t device, bool allow_retry = true,
                     lci::comp_semantic_t semantic = lci::comp_semantic_t::memory) {
    if (kept.size() <= number) kept.resize(number + 1);
    if (kept[number].size() != size || size == 0)
      kept[number] = message(size, number + static_cast<uint64_t>(env.rank));
    const auto s = lci::post_am_x(rank, size == 0 ? nullptr : kept[number].data(), size, counter,
                                  to.all[static_cast<size_t>(rank)])
                       .stream(stream)
                       .tag(number)
                       .device(device)
                       .comp_semantic(semantic)
                       .allow_retry(allow_retry)
                       .runtime(env.rt)();
    posted += s.is_posted();
    return s;
  }
  bool all_ended() const { return lci::counter_get_x(counter).runtime(env.rt)() == posted; }

  rank_env& env;
  lci::comp_t counter;
  int64_t posted = 0;
  std::vector<std::vector<char>> kept;
};

/// Posts without progress in between. False if the post returns retry for a reason that persists.
template <class F>
bool accepted(F post) {
  for (int i = 0; i < 1000;) {
    const lci::status_t status = post();
    if (!status.is_retry()) return true;
    if (status.error == lci::errorcode_t::retry_backlog)
      ++i;
    else
      sched_yield();  // temporary reasons: a lock, or a connection that is being made
  }
  return false;
}

/// Returns whether only this rank's own threads make progress.
bool progress_is_ours() { return std::getenv("LCI_ATTR_PROGRESS_THREAD") == nullptr; }

size_t some_size(rank_env& env, uint64_t number) {
  const auto sizes = interesting_sizes(env);
  return number % 3 == 0 ? sizes[number / 3 % sizes.size()] : number % 97;
}

}  // namespace

TEST_CASE("messages of a stream are delivered in order, whatever their sizes and devices", "[stream]") {
  const bool in_place = GENERATE(false, true);
  INFO("in place: " << in_place);
  on_ranks(
      [in_place](rank_env& env) {
        ordered_inbox in(env, in_place);
        const auto devices = env.devices(3, false);
        auto stream = lci::alloc_stream_x().runtime(env.rt)();
        env.barrier();
        outbox out(env);
        constexpr uint64_t n = 150;
        for (uint64_t i = 0; i < n; ++i) {
          const lci::device_t d = devices[i * 7 % 3];
          lci::status_t s;
          env.until("a post in the stream to be accepted", [&] {
            env.progress_all();
            return !(s = out.post(in, stream, env.right(), i, some_size(env, i), d)).is_retry();
          });
        }
        env.until("all to arrive in order", [&] {
          env.progress_all();
          return in.got(env.left()) == n && out.all_ended();
        });
        env.barrier();
        EXPECT_EQ(in.got_all(), n);
        lci::free_stream_x(&stream).runtime(env.rt)();
        EXPECT(stream.is_empty());
      },
      with_small_chunks);
}

TEST_CASE("streams are delivered in order while several threads make progress", "[stream]") {
  const bool in_place = GENERATE(false, true);
  INFO("in place: " << in_place);
  on_ranks(
      [in_place](rank_env& env) {
        ordered_inbox in(env, in_place);
        constexpr int threads = 3;
        const auto devices = env.devices(threads, false);
        auto stream = lci::alloc_stream_x().runtime(env.rt)();
        env.barrier();
        constexpr uint64_t n = 600;
        outbox out(env);
        env.parallel(threads, [&](int t) {
          const lci::device_t d = devices[static_cast<size_t>(t)];
          // One thread posts, through all devices; each polls its own.
          for (uint64_t i = 0; t == 0 && i < n; ++i) {
            env.post(d, [&] {
              return out.post(in, stream, env.right(), i, i % 40 == 0 ? 30000 : i % 50, devices[i % threads]);
            });
          }
          env.until(d, "all to arrive in order",
                    [&] { return in.got(env.left()) == n && (t != 0 || out.all_ended()); });
        });
        env.barrier();
        lci::free_stream_x(&stream).runtime(env.rt)();
      },
      with_small_chunks);
}

TEST_CASE("messages of threads that post in one stream arrive in the order of each thread", "[stream]") {
  constexpr int threads = 3;
  constexpr uint64_t n = 400;  // messages of a thread
  constexpr unsigned number_bits = 16;
  /// Tags are thread and number.
  struct by_thread final : lci::comp_impl_t {
    explicit by_thread(rank_env& e) : env(e) { attr.am_in_place = true; }
    void signal(lci::status_t s) override {
      EXPECT(!busy.exchange(true));  // messages of a stream are not delivered concurrently
      uint64_t& next = expected[s.tag >> number_bits];
      EXPECT_EQ(s.tag & ((1u << number_bits) - 1), next);
      EXPECT(matches(s.buffer, s.size, s.tag));
      ++next;
      busy.store(false);
      count.fetch_add(1);
    }
    rank_env& env;
    std::atomic<bool> busy{false};
    uint64_t expected[threads] = {};
    std::atomic<uint64_t> count{0};
  };
  on_ranks([](rank_env& env) {
    by_thread in(env);
    const auto rcomp = lci::register_rcomp_x(lci::comp_t(&in)).runtime(env.rt)();
    const auto to = env.all_gather(rcomp)[static_cast<size_t>(env.right())];
    const auto devices = env.devices(threads, false);
    auto stream = lci::alloc_stream_x().window(64).runtime(env.rt)();
    env.barrier();
    env.parallel(threads, [&](int t) {
      const lci::device_t d = devices[static_cast<size_t>(t)];
      for (uint64_t i = 0; i < n; ++i) {
        const uint64_t tag = static_cast<uint64_t>(t) << number_bits | i;
        const auto data = message(1 + i % 60, tag);
        env.post(d, [&] {
          return lci::post_am_x(env.right(), data.data(), data.size(), lci::COMP_NULL_RETRY, to)
              .stream(stream)
              .tag(tag)
              .device(d)
              .runtime(env.rt)();
        });
      }
      env.until(d, "all to arrive", [&] { return in.count.load() == threads * n; });
    });
    env.barrier();
    lci::deregister_rcomp_x(rcomp).runtime(env.rt)();
    lci::free_stream_x(&stream).runtime(env.rt)();
  });
}

TEST_CASE("a post to a full window returns retry until the target has delivered messages", "[stream]") {
  const bool by_bytes = GENERATE(false, true);
  INFO("bytes: " << by_bytes);
  on_ranks([by_bytes](rank_env& env) {
    ordered_inbox in(env);
    auto alloc = lci::alloc_stream_x().runtime(env.rt);
    by_bytes ? alloc.window_bytes(800) : alloc.window(8);
    auto stream = alloc();
    env.barrier();
    outbox out(env);
    const auto post = [&](uint64_t i) { return out.post(in, stream, env.right(), i, 100, env.device); };
    // No rank makes progress: there is room for 8 messages, and not for a ninth.
    uint64_t n = 0;
    if (progress_is_ours()) {
      for (; n < 8; ++n) EXPECT(accepted([&] { return post(n); }));
      EXPECT(!accepted([&] { return post(n); }));
      EXPECT_EQ(post(n).error, lci::errorcode_t::retry_backlog);
      env.barrier();
    }
    for (; n < 100; ++n) env.post([&] { return post(n); });
    env.until("all to arrive", [&] { return in.got(env.left()) == n; });
    env.barrier();
    // A stream that is allocated afterwards continues at the position of this one.
    lci::free_stream_x(&stream).runtime(env.rt)();
    stream = lci::alloc_stream_x().runtime(env.rt)();
    for (; n < 150; ++n) env.post([&] { return post(n); });
    env.until("all to arrive", [&] { return in.got(env.left()) == n; });
    env.barrier();
    lci::free_stream_x(&stream).runtime(env.rt)();
  });
}

TEST_CASE("posts that forbid retry wait for room in the stream, in order", "[stream]") {
  const auto semantic = GENERATE(lci::comp_semantic_t::memory, lci::comp_semantic_t::remote);
  INFO("semantic: " << static_cast<int>(semantic));
  on_ranks(
      [semantic](rank_env& env) {
        ordered_inbox in(env);
        auto stream = lci::alloc_stream_x().runtime(env.rt).window(5).window_bytes(30000)();
        env.barrier();
        outbox out(env);
        constexpr uint64_t n = 120;
        for (uint64_t i = 0; i < n; ++i) {
          const auto s = out.post(in, stream, env.right(), i, some_size(env, i), env.device, false, semantic);
          EXPECT(!s.is_retry());
        }
        if (env.size > 1) EXPECT(lci::test_drained_x().runtime(env.rt)().is_retry());
        env.until("all to arrive", [&] { return in.got(env.left()) == n && out.all_ended(); });
        env.until("the device to be drained", [&] { return lci::test_drained_x().runtime(env.rt)().is_done(); });
        env.barrier();
        lci::free_stream_x(&stream).runtime(env.rt)();
      },
      with_small_chunks);
}

TEST_CASE("a message of a stream that is remotely complete has been delivered in its turn", "[stream]") {
  on_ranks(
      [](rank_env& env) {
        // To itself, since a rank can observe whether its own handler has run.
        ordered_inbox in(env);
        auto stream = lci::alloc_stream_x().runtime(env.rt)();
        outbox out(env);
        for (uint64_t i = 0; i < 40; ++i) {
          env.post([&] {
            return out.post(in, stream, env.rank, i, some_size(env, i), env.device, true, lci::comp_semantic_t::remote);
          });
          EXPECT_EQ(out.posted, static_cast<int64_t>(i + 1));
          env.until("the message to be acknowledged", [&] { return out.all_ended(); });
          EXPECT_EQ(in.got(env.rank), i + 1);
        }
        env.barrier();
        lci::free_stream_x(&stream).runtime(env.rt)();
      },
      with_small_chunks);
}

TEST_CASE("streams do not wait for each other, and other messages do not wait for streams", "[stream]") {
  on_ranks(
      [](rank_env& env) {
        ordered_inbox a(env), b(env), plain(env);
        auto first = lci::alloc_stream_x().runtime(env.rt).window(4)();
        auto second = lci::alloc_stream_x().runtime(env.rt)();
        env.barrier();
        outbox out_a(env), out_b(env), out_plain(env);
        uint64_t in_first = 0;
        const auto post = [&](outbox& out, ordered_inbox& to, lci::stream_t stream, uint64_t i) {
          return accepted([&] { return out.post(to, stream, env.right(), i, 30, env.device); });
        };
        while (in_first < 4) EXPECT(post(out_a, a, first, in_first++));
        if (progress_is_ours()) EXPECT(!post(out_a, a, first, 4));
        EXPECT(post(out_b, b, second, 0));
        EXPECT(post(out_plain, plain, lci::stream_t(), 0));
        env.until("all to arrive",
                  [&] { return a.got(env.left()) == 4 && b.got(env.left()) == 1 && plain.got(env.left()) == 1; });
        env.barrier();
        lci::free_stream_x(&first).runtime(env.rt)();
        lci::free_stream_x(&second).runtime(env.rt)();
      },
      with_small_chunks);
}

TEST_CASE("a handler that throws does not stop its stream", "[stream]") {
  const bool in_place = GENERATE(false, true);
  INFO("in place: " << in_place);
  on_ranks([in_place](rank_env& env) {
    ordered_inbox in(env, in_place);
    in.throw_at = 3;
    const auto devices = env.devices(2, false);
    auto stream = lci::alloc_stream_x().runtime(env.rt)();
    // Without progress, which would handle messages of a neighbour outside of the `try` below.
    env.barrier_at_rest();
    outbox out(env);
    constexpr uint64_t n = 30;
    int thrown = 0;
    const auto poll = [&] {
      for (const lci::device_t d : devices) {
        try {
          lci::progress_x().device(d)();
        } catch (const std::runtime_error& e) {
          EXPECT_EQ(std::string(e.what()), "a handler's own");
          ++thrown;
        }
      }
    };
    for (uint64_t i = 0; i < n;) {
      i += !out.post(in, stream, env.right(), i, 20, devices[i % 2]).is_retry();
      poll();
    }
    const double end = env.now() + rank_env::timeout_s;
    while ((in.got(env.left()) < n || thrown < 10) && env.now() < end) poll();
    EXPECT_EQ(in.got(env.left()), n);
    EXPECT_EQ(thrown, 10);
    env.barrier();
    lci::free_stream_x(&stream).runtime(env.rt)();
  });
}

TEST_CASE("blocking posts in a stream return when they are complete", "[stream]") {
  on_ranks(
      [](rank_env& env) {
        ordered_inbox in(env);
        auto stream = lci::alloc_stream_x().runtime(env.rt).window(4)();
        env.barrier();
        for (uint64_t i = 0; i < 60; ++i) {
          const auto data = message(some_size(env, i), i + static_cast<uint64_t>(env.rank));
          const auto s =
              lci::post_am_x(env.rank, data.empty() ? nullptr : data.data(), data.size(), lci::COMP_NULL, in.rcomp)
                  .stream(stream)
                  .tag(i)
                  .runtime(env.rt)();
          EXPECT(s.is_done());
        }
        env.until("all to arrive", [&] { return in.got(env.rank) == 60; });
        env.barrier();
        lci::free_stream_x(&stream).runtime(env.rt)();
      },
      with_small_chunks);
}

TEST_CASE("misuse of streams is refused", "[stream]") {
  on_ranks([](rank_env& env) {
    lci::stream_t none;
    EXPECT_INVALID(lci::free_stream_x(&none).runtime(env.rt)(), "stream", "empty");
    EXPECT_INVALID(lci::free_stream_x(nullptr).runtime(env.rt)(), "stream", "empty");
    EXPECT_INVALID(lci::alloc_stream_x().window(3).runtime(env.rt)(), "window", "3");
    EXPECT_INVALID(lci::alloc_stream_x().window((1 << 20) + 1).runtime(env.rt)(), "window", "1048577");
    EXPECT_INVALID(lci::alloc_stream_x().window_bytes(0).runtime(env.rt)(), "window_bytes", "0");
    auto stream = lci::alloc_stream_x().runtime(env.rt).name("mine")();
    EXPECT_EQ(std::string(stream.get_attr_name()), "mine");
    char data[8] = {};
    EXPECT_INVALID(lci::post_comm_x(lci::direction_t::OUT, env.rank, data, 8, lci::COMP_NULL_RETRY)
                       .stream(stream)
                       .runtime(env.rt)(),
                   "stream", "active message");
    EXPECT_INVALID(lci::post_comm_x(lci::direction_t::IN, env.rank, data, 8, lci::COMP_NULL_RETRY)
                       .stream(stream)
                       .runtime(env.rt)(),
                   "stream", "active message");
    EXPECT_INVALID(lci::post_am_x(env.size, data, 8, lci::COMP_NULL_RETRY, 1).stream(stream).runtime(env.rt)(), "rank",
                   std::to_string(env.size));
    EXPECT_INVALID(lci::post_am_x(env.rank, data, 8, lci::COMP_NULL_RETRY, 0).stream(stream).runtime(env.rt)(),
                   "remote_comp", "0");
    ordered_inbox in(env);
    fill(data, 8, static_cast<uint64_t>(env.rank));
    lci::post_comm_x(lci::direction_t::OUT, env.rank, data, 8, lci::COMP_NULL)
        .remote_comp(in.rcomp)
        .stream(stream)
        .runtime(env.rt)();
    env.until("the message to arrive", [&] { return in.got(env.rank) == 1; });
    lci::free_stream_x(&stream).runtime(env.rt)();
    env.barrier();
  });
}
