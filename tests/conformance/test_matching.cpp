// Which send matches which receive: policies, wildcards, engines, a user's own key.
#include "tests/conformance/inbox.hpp"
#include "tests/conformance/pattern.hpp"

using namespace conf;
using policy = lci::matching_policy_t;

namespace {

const char* const policy_names[] = {"none", "rank_only", "tag_only", "rank_tag"};

struct sent_value {
  int rank;
  lci::tag_t tag;
};

void send_value(rank_env& env, int to, lci::tag_t tag, policy p, lci::matching_engine_t engine = {}) {
  const sent_value v{env.rank, tag};
  env.post([&] {
    return lci::post_send_x(to, &v, sizeof v, tag, lci::COMP_NULL)
        .matching_policy(p)
        .matching_engine(engine)
        .runtime(env.rt)();
  });
}

}  // namespace

TEST_CASE("a send matches a receive of the same policy if what the policy compares is equal", "[matching]") {
  const auto p = GENERATE(policy::none, policy::rank_only, policy::tag_only, policy::rank_tag);
  INFO(policy_names[static_cast<int>(p)]);
  on_ranks([p](rank_env& env) {
    const bool compares_rank = p == policy::rank_only || p == policy::rank_tag;
    const bool compares_tag = p == policy::tag_only || p == policy::rank_tag;
    inbox box(env, inbox_kind::queue_lcrq, 1, false);
    sent_value v{-1, 0};
    // Rank and tag differ on the two sides where the policy ignores them.
    auto received = lci::post_recv_x(compares_rank ? env.left() : (env.left() + 1) % env.size, &v, sizeof v,
                                     compares_tag ? 11 : 12, box.comp())
                        .matching_policy(p)
                        .runtime(env.rt)();
    EXPECT(!received.is_retry());
    send_value(env, env.right(), 11, p);
    if (!received.is_done()) received = box.collect().front().status;
    EXPECT_EQ(v.rank, env.left());
    EXPECT_EQ(received.rank, env.left());
    EXPECT_EQ(received.tag, lci::tag_t{11});
  });
}

TEST_CASE("ANY_SOURCE and ANY_TAG match sends with the policy of the wildcard", "[matching]") {
  const bool expected = GENERATE(true, false);
  INFO("receive posted first: " << expected);
  on_ranks([expected](rank_env& env) {
    const struct {
      int rank;
      lci::tag_t tag;
      policy sent_as;
    } cases[] = {{lci::ANY_SOURCE, 11, policy::tag_only},
                 {env.left(), lci::ANY_TAG, policy::rank_only},
                 {lci::ANY_SOURCE, lci::ANY_TAG, policy::none}};
    inbox box(env, inbox_kind::queue_lcrq, 1, false);
    for (const auto& c : cases) {
      sent_value v{-1, 0};
      auto receive = [&] { return lci::post_recv_x(c.rank, &v, sizeof v, c.tag, box.comp()).runtime(env.rt)(); };
      lci::status_t received;
      if (expected) {
        received = receive();
        env.barrier();
      }
      send_value(env, env.right(), 11, c.sent_as);
      if (!expected) {
        for (int i = 0; i < 20; ++i) env.progress();
        env.barrier();
        received = receive();
      }
      if (!received.is_done()) received = box.collect().front().status;
      EXPECT_EQ(received.rank, env.left());
      EXPECT_EQ(received.tag, lci::tag_t{11});
      EXPECT_EQ(v.rank, env.left());
      env.barrier();
    }
  });
}

TEST_CASE("a receive for any tag of rank n does not match rank 0's messages with tag n", "[matching]") {
  on_ranks([](rank_env& env) {
    // `other` is n.
    const int other = env.size - 1;
    inbox wild(env, inbox_kind::queue_lcrq, 1, false);
    inbox plain(env, inbox_kind::queue_lcrq, 1, false);
    const auto tag = static_cast<lci::tag_t>(other);
    sent_value v{-1, 0}, w{-1, 0};
    if (env.rank == 0) {
      const auto r = lci::post_recv_x(other, &v, sizeof v, lci::ANY_TAG, wild.comp()).runtime(env.rt)();
      EXPECT(r.is_posted());
    }
    env.barrier();
    for (int i = 0; i < 3; ++i)  // all policies but that of the wildcard
      if (env.rank == 0) {
        const policy p[] = {policy::rank_tag, policy::tag_only, policy::none};
        send_value(env, 0, tag, p[i]);
      }
    for (int i = 0; i < 200; ++i) env.progress();
    env.barrier();
    if (env.rank == 0) {
      EXPECT(wild.empty());
      EXPECT_EQ(v.rank, -1);
      auto r = lci::post_recv_x(0, &w, sizeof w, tag, plain.comp()).runtime(env.rt)();
      if (!r.is_done()) r = plain.collect().front().status;
      EXPECT_EQ(w.rank, 0);
      for (const auto p : {policy::tag_only, policy::none}) {
        r = lci::post_recv_x(0, &w, sizeof w, tag, plain.comp()).matching_policy(p).runtime(env.rt)();
        if (!r.is_done()) plain.collect();
      }
    }
    env.barrier();
    if (env.rank == other) send_value(env, 0, 3, policy::rank_only);
    if (env.rank == 0) {
      EXPECT_EQ(wild.collect().front().status.rank, other);
      EXPECT_EQ(v.tag, lci::tag_t{3});
    }
  });
}

TEST_CASE("tags and ranks that differ do not match", "[matching]") {
  on_ranks([](rank_env& env) {
    inbox box(env, inbox_kind::queue_lcrq, 1, false);
    sent_value wanted{-1, 0}, other{-1, 0};
    const auto r = lci::post_recv_x(env.left(), &wanted, sizeof wanted, 2, box.comp()).runtime(env.rt)();
    EXPECT(r.is_posted());
    env.barrier();
    send_value(env, env.right(), 1, policy::rank_tag);
    for (int i = 0; i < 100; ++i) env.progress();
    env.barrier();
    EXPECT(box.empty());
    env.barrier();
    send_value(env, env.right(), 2, policy::rank_tag);
    EXPECT_EQ(box.collect().front().status.tag, lci::tag_t{2});
    auto s = lci::post_recv_x(env.left(), &other, sizeof other, 1, box.comp()).runtime(env.rt)();
    if (!s.is_done()) s = box.collect().front().status;
    EXPECT_EQ(other.tag, lci::tag_t{1});
  });
}

TEST_CASE("many messages with one key reach as many receives, in any order", "[matching]") {
  const bool map = GENERATE(true, false);
  INFO((map ? "map" : "queue"));
  on_ranks([map](rank_env& env) {
    constexpr int count = 100;
    auto engine =
        lci::alloc_matching_engine_x()
            .matching_engine_type(map ? lci::attr_matching_engine_type_t::map : lci::attr_matching_engine_type_t::queue)
            .runtime(env.rt)();
    env.barrier();
    inbox box(env, inbox_kind::queue_lcrq, count, false);
    std::vector<uint64_t> in(count, 0);
    int at_once = 0;
    auto receive = [&](size_t i) {
      const auto s = lci::post_recv_x(env.left(), &in[i], sizeof in[i], 4, box.comp())
                         .matching_engine(engine)
                         .allow_done(false)
                         .runtime(env.rt)();
      at_once += s.is_done();
    };
    auto send = [&](uint64_t i) {
      env.post([&] {
        return lci::post_send_x(env.right(), &i, sizeof i, 4, lci::COMP_NULL).matching_engine(engine).runtime(env.rt)();
      });
    };
    for (size_t i = 0; i < count / 2; ++i) receive(i);
    for (uint64_t i = 1; i <= count; ++i) send(i);
    for (int i = 0; i < 50; ++i) env.progress();
    for (size_t i = count / 2; i < count; ++i) receive(i);
    EXPECT_EQ(at_once, 0);
    box.collect();
    std::vector<int> seen(count + 1, 0);
    for (const auto v : in)
      if (v <= count) ++seen[v];
    EXPECT_EQ(seen[0], 0);
    for (size_t i = 1; i <= count; ++i) EXPECT_EQ(seen[i], 1);
    env.barrier();
    lci::free_matching_engine_x(&engine).runtime(env.rt)();
  });
}

TEST_CASE("messages and receives of two matching engines never match", "[matching]") {
  on_ranks([](rank_env& env) {
    auto engine = lci::alloc_matching_engine_x().runtime(env.rt)();
    env.barrier();
    inbox box(env, inbox_kind::queue_lcrq, 1, false);
    sent_value v{-1, 0}, w{-1, 0};
    auto r = lci::post_recv_x(env.left(), &v, sizeof v, 1, box.comp()).matching_engine(engine).runtime(env.rt)();
    EXPECT(r.is_posted());
    env.barrier();
    send_value(env, env.right(), 1, policy::rank_tag);  // matched by the default engine
    for (int i = 0; i < 100; ++i) env.progress();
    env.barrier();
    EXPECT(box.empty());
    env.barrier();
    send_value(env, env.right(), 1, policy::rank_tag, engine);
    box.collect();
    EXPECT_EQ(v.rank, env.left());
    r = lci::post_recv_x(env.left(), &w, sizeof w, 1, box.comp()).runtime(env.rt)();
    if (!r.is_done()) box.collect();
    EXPECT_EQ(w.rank, env.left());
    env.barrier();
    lci::free_matching_engine_x(&engine).runtime(env.rt)();
  });
}

TEST_CASE("a user's make_key decides what matches", "[matching]") {
  on_ranks([](rank_env& env) {
    auto engine = lci::alloc_matching_engine_x()
                      .make_key([](int, lci::tag_t tag, policy) -> lci::matching_entry_key_t {
                        return tag / 10;  // tags with the same quotient by 10 are equal
                      })
                      .runtime(env.rt)();
    env.barrier();
    inbox box(env, inbox_kind::queue_lcrq, 1, false);
    sent_value v{-1, 0};
    auto r = lci::post_recv_x(env.left(), &v, sizeof v, 25, box.comp()).matching_engine(engine).runtime(env.rt)();
    send_value(env, env.right(), 28, policy::rank_tag, engine);
    if (!r.is_done()) r = box.collect().front().status;
    EXPECT_EQ(r.tag, lci::tag_t{28});
    EXPECT_EQ(v.tag, lci::tag_t{28});
    env.barrier();
    lci::free_matching_engine_x(&engine).runtime(env.rt)();
  });
}
