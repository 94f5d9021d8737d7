// Put and get with a signal: the target gets the rank, size, address and tag, and the data is complete by then.
#include "tests/conformance/inbox.hpp"
#include "tests/conformance/window.hpp"

using namespace conf;

namespace {

void expect_signal(rank_env& env, const lci::status_t& s, void* at, size_t size, lci::tag_t tag) {
  EXPECT(s.is_done());
  EXPECT_EQ(s.rank, env.left());
  EXPECT_EQ(s.size, size);
  EXPECT_EQ(s.tag, tag);
  EXPECT(s.buffer == at);
}

}  // namespace

TEST_CASE("a put with signal tells the target when the data is in place", "[rma][signal]") {
  const auto kind = GENERATE(from_range(all_target_kinds()));
  INFO(name_of(kind));
  on_ranks(
      [kind](rank_env& env) {
        constexpr size_t disp = 40;
        const auto sizes = interesting_sizes(env);
        inbox box(env, kind, 1, false);
        window w(env, sizes.back() + 2 * disp);
        auto sync = lci::alloc_sync_x().runtime(env.rt)();
        const auto rcomps = env.all_gather(box.rcomp());
        lci::tag_t tag = 3;
        for (const size_t size : sizes) {
          w.clear();
          env.barrier();
          tag = tag * 7 % 50'000;
          const auto out = message(size, size + static_cast<uint64_t>(env.rank));
          finished(env, sync, env.post([&] {
            return lci::post_put_x(env.right(), out.data(), size, sync, disp, w.of(env.right()))
                .remote_comp(rcomps[static_cast<size_t>(env.right())])
                .tag(tag)
                .runtime(env.rt)();
          }));
          const auto signal = box.collect().front().status;
          if (box.tells_status()) expect_signal(env, signal, w.data() + disp, size, tag);
          EXPECT(matches(w.data() + disp, size, size + static_cast<uint64_t>(env.left())));
          EXPECT(w.untouched_but(disp, size));
          env.barrier();
          EXPECT(box.empty());
        }
        lci::free_comp_x(&sync).runtime(env.rt)();
      },
      with_small_chunks);
}

TEST_CASE("a get with signal tells the target that its memory has been read", "[rma][signal]") {
  const auto kind = GENERATE(from_range(all_target_kinds()));
  INFO(name_of(kind));
  on_ranks(
      [kind](rank_env& env) {
        constexpr size_t disp = 40;
        const auto sizes = interesting_sizes(env);
        inbox box(env, kind, 1, false);
        window w(env, sizes.back() + 2 * disp);
        fill(w.data(), w.size(), static_cast<uint64_t>(env.rank));
        auto sync = lci::alloc_sync_x().runtime(env.rt)();
        const auto rcomps = env.all_gather(box.rcomp());
        for (const size_t size : sizes) {
          guarded in(size);
          finished(env, sync, env.post([&] {
            return lci::post_get_x(env.right(), in.data(), size, sync, disp, w.of(env.right()))
                .remote_comp(rcomps[static_cast<size_t>(env.right())])
                .tag(size % 1000)
                .runtime(env.rt)();
          }));
          EXPECT(matches(in.data(), size, static_cast<uint64_t>(env.right()), disp));
          EXPECT(in.intact(size));
          const auto signal = box.collect().front().status;
          if (box.tells_status()) expect_signal(env, signal, w.data() + disp, size, size % 1000);
          env.barrier();
          EXPECT(box.empty());
          env.barrier();  // no rank has begun the next round
        }
        lci::free_comp_x(&sync).runtime(env.rt)();
      },
      with_small_chunks);
}

TEST_CASE("all signals of many puts arrive, each after its data", "[rma][signal]") {
  on_ranks([](rank_env& env) {
    constexpr int count = 500;
    inbox box(env, inbox_kind::queue_lcrq, count, false);
    window w(env, count * sizeof(uint64_t));
    std::memset(w.data(), 0, w.size());
    const auto rcomps = env.all_gather(box.rcomp());
    for (uint64_t i = 0; i < count; ++i) {
      const uint64_t value = i + 1;
      env.post([&] {
        return lci::post_put_x(env.right(), &value, sizeof value, lci::COMP_NULL_RETRY, i * sizeof value,
                               w.of(env.right()))
            .remote_comp(rcomps[static_cast<size_t>(env.right())])
            .tag(i)
            .runtime(env.rt)();
      });
    }
    for (const auto& a : box.collect()) {
      uint64_t value = 0;
      std::memcpy(&value, a.status.buffer, sizeof value);
      EXPECT_EQ(value, a.status.tag + 1);
      EXPECT_EQ(a.status.rank, env.left());
    }
    env.barrier();
    EXPECT(box.empty());
  });
}
