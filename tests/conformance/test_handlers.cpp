// What handlers may do: post messages whose answers call a handler again. They are not called recursively.
#include <cstdlib>

#include "tests/conformance/inbox.hpp"
#include "tests/conformance/pattern.hpp"

using namespace conf;

namespace {

/// The state of the handlers of one rank, found through rank_env::mine().
struct rank_state {
  lci::runtime_t rt;
  lci::rcomp_t rcomp = 0;
  std::atomic<int> calls{0};
  std::atomic<int> depth{0};
  std::atomic<int> deepest{0};
  std::atomic<int> progress_said_done{0};
  std::atomic<int> wrong{0};
  std::atomic<int> freed{0};
  lci::rcomp_t large_rcomp = 0;
  lci::comp_t freer;
};
rank_state states[64];
rank_state& mine() { return states[rank_env::mine().rank]; }

rank_state& start(rank_env& env) {
  auto& s = states[env.rank];
  s.rt = env.rt;
  s.calls = 0;
  s.depth = 0;
  s.deepest = 0;
  s.progress_said_done = 0;
  s.wrong = 0;
  s.freed = 0;
  return s;
}

/// Answers each message with one whose number is smaller by one, until it is 0.
void ping_pong(lci::status_t status) {
  auto& s = mine();
  uint64_t left;
  std::memcpy(&left, status.buffer, sizeof left);
  s.calls.fetch_add(1);
  if (left == 0) return;
  --left;
  const auto r = lci::post_am_x(status.rank, &left, sizeof left, lci::COMP_NULL, s.rcomp).runtime(s.rt)();
  if (!r.is_done()) s.wrong.fetch_add(1);
}

constexpr int flood_size = 3000;
/// Sends more than any lane or send queue holds.
void floods(lci::status_t status) {
  auto& s = mine();
  for (uint64_t i = 0; i < flood_size; ++i) {
    const auto r = lci::post_am_x(status.rank, &i, sizeof i, lci::COMP_NULL, s.large_rcomp).runtime(s.rt)();
    if (!r.is_done()) s.wrong.fetch_add(1);
  }
}

void tries_progress(lci::status_t status) {
  auto& s = mine();
  const int depth = s.depth.fetch_add(1) + 1;
  if (depth > s.deepest.load()) s.deepest.store(depth);
  for (int i = 0; i < 5; ++i)
    if (!lci::progress_x().runtime(s.rt)().is_retry()) s.progress_said_done.fetch_add(1);
  s.calls.fetch_add(1);
  s.depth.fetch_sub(1);
  std::free(status.buffer);
}

/// Answers a small request with a message that takes the rendezvous protocol.
void answers_large(lci::status_t status) {
  auto& s = mine();
  uint64_t size;
  std::memcpy(&size, status.buffer, sizeof size);
  auto* out = static_cast<char*>(std::malloc(size));
  fill(out, size, size);
  const auto r = lci::post_am_x(status.rank, out, size, s.freer, s.large_rcomp)
                     .allow_done(false)
                     .allow_retry(false)
                     .runtime(s.rt)();
  if (!r.is_posted()) s.wrong.fetch_add(1);
  s.calls.fetch_add(1);
}
void frees_what_was_sent(lci::status_t status) {
  mine().freed.fetch_add(1);
  std::free(status.buffer);
}

}  // namespace

TEST_CASE("handlers that answer each message keep a ping-pong going", "[handlers]") {
  on_ranks([](rank_env& env) {
    auto& s = start(env);
    auto comp = lci::alloc_handler_x(ping_pong).am_in_place(true).runtime(env.rt)();
    s.rcomp = lci::register_rcomp_x(comp).runtime(env.rt)();
    EXPECT_EQ(env.all_gather(s.rcomp)[0], s.rcomp);
    const int balls = 64, rounds = 200;
    for (int i = 0; i < balls; ++i) {
      const uint64_t left = rounds;
      env.post([&] {
        return lci::post_am_x(env.right(), &left, sizeof left, lci::COMP_NULL_RETRY, s.rcomp).runtime(env.rt)();
      });
    }
    // Each message is handled rounds + 1 times, by its two ranks in turn: a rank handles those of its left
    // neighbour rounds / 2 + 1 times, and its own rounds / 2 times.
    const int expected = balls * (rounds + 1);
    env.until("the ping-pong", [&] { return s.calls.load() >= expected; });
    env.barrier();
    EXPECT_EQ(s.calls.load(), expected);
    EXPECT_EQ(s.wrong.load(), 0);
    lci::free_comp_x(&comp).runtime(env.rt)();
  });
}

TEST_CASE("progress inside a handler returns retry and does not recurse", "[handlers]") {
  on_ranks([](rank_env& env) {
    auto& s = start(env);
    auto comp = lci::alloc_handler_x(tries_progress).runtime(env.rt)();
    s.rcomp = lci::register_rcomp_x(comp).runtime(env.rt)();
    env.barrier();
    for (int i = 0; i < 200; ++i) {
      const uint64_t word = 1;
      env.post([&] {
        return lci::post_am_x(env.right(), &word, sizeof word, lci::COMP_NULL_RETRY, s.rcomp).runtime(env.rt)();
      });
    }
    env.until("200 messages", [&] { return s.calls.load() == 200; });
    EXPECT_EQ(s.progress_said_done.load(), 0);
    EXPECT_EQ(s.deepest.load(), 1);
    env.barrier();
    lci::free_comp_x(&comp).runtime(env.rt)();
  });
}

TEST_CASE("a handler may start rendezvous transfers", "[handlers]") {
  on_ranks(
      [](rank_env& env) {
        auto& s = start(env);
        auto requests = lci::alloc_handler_x(answers_large).am_in_place(true).runtime(env.rt)();
        s.freer = lci::alloc_handler_x(frees_what_was_sent).runtime(env.rt)();
        s.rcomp = lci::register_rcomp_x(requests).runtime(env.rt)();
        const int count = 100;
        inbox answers(env, inbox_kind::queue_lcrq, count);
        s.large_rcomp = answers.rcomp();
        env.barrier();
        for (int i = 0; i < count; ++i) {
          const uint64_t size = 30'000 + static_cast<uint64_t>(i) * 1000;
          env.post([&] {
            return lci::post_am_x(env.right(), &size, sizeof size, lci::COMP_NULL_RETRY, s.rcomp).runtime(env.rt)();
          });
        }
        for (const auto& a : answers.collect()) {
          EXPECT_EQ(a.status.rank, env.right());
          EXPECT(matches(a.data.data(), a.data.size(), a.data.size()));
        }
        env.until("local completions", [&] { return s.freed.load() == count; });
        EXPECT_EQ(s.calls.load(), count);
        EXPECT_EQ(s.wrong.load(), 0);
        env.barrier();
        lci::free_comp_x(&requests).runtime(env.rt)();
        lci::free_comp_x(&s.freer).runtime(env.rt)();
      },
      with_small_chunks);
}

TEST_CASE("a handler that floods its peer without progress loses nothing", "[handlers]") {
  on_ranks([](rank_env& env) {
    auto& s = start(env);
    auto comp = lci::alloc_handler_x(floods).am_in_place(true).runtime(env.rt)();
    s.rcomp = lci::register_rcomp_x(comp).runtime(env.rt)();
    inbox flood(env, inbox_kind::counter, flood_size);
    s.large_rcomp = flood.rcomp();
    env.barrier();
    const uint64_t word = 0;
    env.post([&] {
      return lci::post_am_x(env.right(), &word, sizeof word, lci::COMP_NULL_RETRY, s.rcomp).runtime(env.rt)();
    });
    flood.collect();
    env.barrier();
    EXPECT_EQ(s.wrong.load(), 0);
    EXPECT(flood.empty());
    lci::free_comp_x(&comp).runtime(env.rt)();
  });
}
