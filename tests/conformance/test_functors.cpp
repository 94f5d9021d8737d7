// Functors that are called several times: each call repeats the operation.
#include "tests/conformance/inbox.hpp"
#include "tests/conformance/window.hpp"

using namespace conf;

namespace {

constexpr int rounds = 3;

/// Calls the functor of a post until it is accepted, and waits for its completion.
template <class Functor>
lci::status_t again(rank_env& env, lci::comp_t sync, Functor& post) {
  return finished(env, sync, env.post([&] { return post(); }));
}

}  // namespace

TEST_CASE("a functor of a message that is called again sends the buffer's current content", "[functors]") {
  const size_t size = GENERATE(size_t{8}, size_t{3000}, size_t{150'000});
  INFO(size << " bytes");
  on_ranks([size](rank_env& env) {
    const auto rt = env.rt;
    inbox box(env, inbox_kind::queue_lcrq, 1);
    const auto rcomp = env.all_gather(box.rcomp())[static_cast<size_t>(env.right())];
    auto sent = lci::alloc_sync_x().runtime(rt)();
    auto received = lci::alloc_sync_x().runtime(rt)();
    std::vector<char> out(size), in(size);
    int mark = 0;
    auto am = lci::post_am_x(env.right(), out.data(), size, sent, rcomp).tag(9).user_context(&mark).runtime(rt);
    auto send = lci::post_send_x(env.right(), out.data(), size, 5, sent).runtime(rt);
    auto recv = lci::post_recv_x(env.left(), in.data(), size, 5, received).runtime(rt);
    for (uint64_t round = 0; round < rounds; ++round) {
      const auto left = 10 * round + static_cast<uint64_t>(env.left());
      fill(out.data(), size, 10 * round + static_cast<uint64_t>(env.rank));
      const auto s = again(env, sent, am);
      EXPECT_EQ(s.rank, env.right());
      EXPECT_EQ(s.tag, lci::tag_t{9});
      EXPECT(s.user_context == &mark);
      const auto a = box.collect().front();
      EXPECT_EQ(a.status.tag, lci::tag_t{9});
      EXPECT(a.data.size() == size && matches(a.data.data(), size, left));

      auto r = env.post([&] { return recv(); });
      EXPECT_EQ(again(env, sent, send).size, size);
      r = finished(env, received, r);
      EXPECT_EQ(r.rank, env.left());
      EXPECT_EQ(r.tag, lci::tag_t{5});
      EXPECT(matches(in.data(), size, left));
      in.assign(size, 0);
      env.barrier();  // the next messages must not overtake these
    }
    lci::free_comp_x(&received).runtime(rt)();
    lci::free_comp_x(&sent).runtime(rt)();
  });
}

TEST_CASE("a functor of a put or get that is called again moves the bytes again", "[functors]") {
  const size_t size = GENERATE(size_t{8}, size_t{150'000});
  INFO(size << " bytes");
  on_ranks([size](rank_env& env) {
    const auto rt = env.rt;
    window w(env, size);
    auto sync = lci::alloc_sync_x().runtime(rt)();
    std::vector<char> out(size), in(size);
    auto put = lci::post_put_x(env.right(), out.data(), size, sync, 0, w.of(env.right()))
                   .comp_semantic(lci::comp_semantic_t::remote)
                   .runtime(rt);
    auto get = lci::post_get_x(env.right(), in.data(), size, sync, 0, w.of(env.right())).runtime(rt);
    for (uint64_t round = 0; round < rounds; ++round) {
      const auto mine = 10 * round + static_cast<uint64_t>(env.rank);
      fill(out.data(), size, mine);
      EXPECT_EQ(again(env, sync, put).size, size);
      in.assign(size, 0);
      EXPECT_EQ(again(env, sync, get).size, size);
      EXPECT(matches(in.data(), size, mine));
      env.barrier();
      EXPECT(matches(w.data(), size, 10 * round + static_cast<uint64_t>(env.left())));
      env.barrier();
    }
    lci::free_comp_x(&sync).runtime(rt)();
  });
}

TEST_CASE("a copy of a functor is independent of it", "[functors]") {
  on_ranks([](rank_env& env) {
    const auto rt = env.rt;
    inbox box(env, inbox_kind::queue_lcrq, 1);
    const auto rcomp = env.all_gather(box.rcomp())[static_cast<size_t>(env.right())];
    const auto out = message(16, 1);
    auto first = lci::post_am_x(env.right(), out.data(), 16, lci::COMP_NULL_RETRY, rcomp).runtime(rt);
    env.post([&] { return first(); });
    auto second = first;
    second.tag(7).size(8);
    const auto next = [&] {
      const auto a = box.collect().front();
      env.barrier();  // the next message must not overtake this one
      return a;
    };
    EXPECT_EQ(next().status.tag, lci::tag_t{0});
    env.post([&] { return second(); });
    auto a = next();
    EXPECT_EQ(a.status.tag, lci::tag_t{7});
    EXPECT_EQ(a.data.size(), size_t{8});
    env.post([&] { return first(); });
    a = next();
    EXPECT_EQ(a.status.tag, lci::tag_t{0});
    EXPECT_EQ(a.data.size(), size_t{16});
  });
}

TEST_CASE("a functor of an allocation that is called again makes another object", "[functors]") {
  on_ranks([](rank_env& env) {
    const auto rt = env.rt;
    auto alloc = lci::alloc_sync_x().threshold(2).name("pair").runtime(rt);
    auto alloc_pool = lci::alloc_packet_pool_x().packet_size(4096).npackets(16).runtime(rt);
    lci::comp_t syncs[2];
    lci::packet_pool_t pools[2];
    for (auto& s : syncs) s = alloc();
    for (auto& p : pools) p = alloc_pool();
    EXPECT(syncs[0] != syncs[1]);
    EXPECT(pools[0] != pools[1]);
    for (auto& s : syncs) {
      EXPECT_EQ(s.get_attr_sync_threshold(), 2);
      EXPECT(s.get_attr_name() == std::string("pair"));
      auto signal = lci::comp_signal_x(s, lci::errorcode_t::done).runtime(rt);
      auto test = lci::sync_test_x(s, nullptr).runtime(rt);
      for (int round = 0; round < rounds; ++round) {
        signal();
        EXPECT(!test());
        signal();
        EXPECT(test());
      }
      lci::free_comp_x(&s).runtime(rt)();
    }
    for (auto& p : pools) {
      EXPECT_EQ(p.get_attr_npackets(), size_t{16});
      lci::free_packet_pool_x(&p).runtime(rt)();
    }
  });
}
