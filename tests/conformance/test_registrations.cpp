// Arguments for `mr`: registrations of 0 bytes, and the constants that are no registrations.
#include "tests/conformance/inbox.hpp"
#include "tests/conformance/window.hpp"

using namespace conf;

namespace {

constexpr size_t sizes[] = {0, 8, 3000, 150'000};

/// Posts until the operation is accepted, and waits for its completion.
template <class Post>
lci::status_t carry_out(rank_env& env, lci::comp_t sync, Post post) {
  return finished(env, sync, env.post(post));
}

}  // namespace

TEST_CASE("posts accept each constant for memory that is not registered", "[rma]") {
  // Managed GPU memory is such memory, as the processor can read and write it.
  const lci::mr_t constants[] = {lci::MR_HOST, lci::MR_DEVICE, lci::MR_UNKNOWN};
  const size_t which = GENERATE(size_t{0}, size_t{1}, size_t{2});
  const lci::mr_t mr = constants[which];
  INFO("constant " << which);
  on_ranks([mr](rank_env& env) {
    const auto rt = env.rt;
    window w(env, sizes[3]);
    inbox box(env, inbox_kind::queue_lcrq, 1);
    const auto rcomp = env.all_gather(box.rcomp())[static_cast<size_t>(env.right())];
    auto sent = lci::alloc_sync_x().runtime(rt)();
    auto received = lci::alloc_sync_x().runtime(rt)();
    for (const size_t size : sizes) {
      const auto seed = static_cast<uint64_t>(env.rank), left = static_cast<uint64_t>(env.left());
      const auto out = message(size, seed);
      // An operation of size 0 needs no memory.
      const char* from = size == 0 ? nullptr : out.data();
      std::vector<char> in(size);
      char* into = size == 0 ? nullptr : in.data();

      auto r = env.post([&] { return lci::post_recv_x(env.left(), into, size, 1, received).mr(mr).runtime(rt)(); });
      carry_out(env, sent, [&] { return lci::post_send_x(env.right(), from, size, 1, sent).mr(mr).runtime(rt)(); });
      r = finished(env, received, r);
      EXPECT_EQ(r.size, size);
      EXPECT(matches(in.data(), size, left));

      carry_out(env, sent, [&] { return lci::post_am_x(env.right(), from, size, sent, rcomp).mr(mr).runtime(rt)(); });
      const auto a = box.collect().front();
      EXPECT_EQ(a.data.size(), size);
      EXPECT(matches(a.data.data(), size, left));

      env.barrier();
      const auto put = carry_out(env, sent, [&] {
        return lci::post_put_x(env.right(), from, size, sent, 0, w.of(env.right()))
            .mr(mr)
            .comp_semantic(lci::comp_semantic_t::remote)
            .runtime(rt)();
      });
      EXPECT_EQ(put.size, size);
      env.barrier();
      EXPECT(matches(w.data(), size, left));
      in.assign(size, 0);
      const auto got = carry_out(env, sent, [&] {
        return lci::post_get_x(env.right(), into, size, sent, 0, w.of(env.right())).mr(mr).runtime(rt)();
      });
      EXPECT_EQ(got.size, size);
      EXPECT(matches(in.data(), size, seed));
      env.barrier();
    }
    lci::free_comp_x(&received).runtime(rt)();
    lci::free_comp_x(&sent).runtime(rt)();
  });
}

TEST_CASE("the constants can't be deregistered and have no remote key", "[invalid]") {
  on_ranks([](rank_env& env) {
    for (const lci::mr_t constant : {lci::MR_HOST, lci::MR_DEVICE, lci::MR_UNKNOWN}) {
      lci::mr_t mr = constant;
      EXPECT_INVALID(lci::deregister_memory_x(&mr).runtime(env.rt)(), "mr", "register_memory()");
      EXPECT(mr == constant);
      EXPECT_INVALID(lci::get_rmr_x(mr).runtime(env.rt)(), "mr", "register_memory()");
    }
    EXPECT_INVALID(lci::register_memory_x(nullptr, 1).runtime(env.rt)(), "address", "nullptr");
  });
}

TEST_CASE("0 bytes can be registered, put to and got from", "[rma]") {
  const bool somewhere = GENERATE(false, true);
  INFO((somewhere ? "an address" : "nullptr"));
  on_ranks([somewhere](rank_env& env) {
    const auto rt = env.rt;
    char place[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    void* address = somewhere ? place : nullptr;
    auto mr = lci::register_memory_x(address, 0).runtime(rt)();
    const lci::rmr_t own = lci::get_rmr_x(mr).runtime(rt)();
    EXPECT(!own.is_empty());
    EXPECT_EQ(own.size(), uint64_t{0});
    const auto rmr = env.all_gather(own)[static_cast<size_t>(env.right())];
    auto sync = lci::alloc_sync_x().runtime(rt)();
    char b[8] = {};
    for (const lci::mr_t local : {lci::mr_t(), mr}) {
      EXPECT_EQ(
          carry_out(env, sync,
                    [&] { return lci::post_put_x(env.right(), address, 0, sync, 0, rmr).mr(local).runtime(rt)(); })
              .size,
          size_t{0});
      EXPECT_EQ(
          carry_out(env, sync,
                    [&] { return lci::post_get_x(env.right(), address, 0, sync, 0, rmr).mr(local).runtime(rt)(); })
              .size,
          size_t{0});
    }
    EXPECT_INVALID(lci::post_put_x(env.right(), b, 1, sync, 0, rmr).runtime(rt)(), "remote_disp", "0");
    EXPECT_INVALID(lci::post_get_x(env.right(), b, 1, sync, 0, rmr).runtime(rt)(), "remote_disp", "0");
    env.barrier();
    for (char i = 0; i < 8; ++i) EXPECT_EQ(static_cast<int>(place[static_cast<size_t>(i)]), i + 1);
    lci::free_comp_x(&sync).runtime(rt)();
    lci::deregister_memory_x(&mr).runtime(rt)();
    EXPECT(mr.is_empty());
  });
}
