// set_undelivered(): the completion object that gets messages and signals whose remote handle is not registered.
#include "tests/conformance/pattern.hpp"
#include "tests/conformance/window.hpp"

using namespace conf;

namespace {

/// The rank's completion queue for undelivered messages, and handles that are not registered: `freed` at this rank,
/// `theirs` at the right neighbour.
struct lost_messages {
  explicit lost_messages(rank_env& e) : env(e), queue(lci::alloc_cq_x().runtime(e.rt)()) {
    lci::set_undelivered_x(queue).runtime(env.rt)();
    // A handle that was registered, and is no longer.
    auto handler = lci::alloc_counter_x().runtime(env.rt)();
    freed = lci::register_rcomp_x(handler).runtime(env.rt)();
    lci::deregister_rcomp_x(freed).runtime(env.rt)();
    lci::free_comp_x(&handler).runtime(env.rt)();
    theirs = env.all_gather(freed)[static_cast<size_t>(env.right())];
  }
  ~lost_messages() {
    env.barrier();
    lci::set_undelivered_x(lci::comp_t()).runtime(env.rt)();
    lci::free_comp_x(&queue).runtime(env.rt)();
  }
  void expect(lci::rcomp_t handle, size_t size, lci::tag_t tag) {
    lci::status_t s;
    env.until("a lost message", [&] { return !(s = lci::cq_pop_x(queue).runtime(env.rt)()).is_retry(); });
    EXPECT_EQ(s.error, lci::errorcode_t::fatal);
    EXPECT_EQ(s.rank, env.left());
    EXPECT_EQ(s.size, size);
    EXPECT_EQ(s.tag, tag);
    EXPECT(s.buffer == nullptr);
    EXPECT(s.user_context == reinterpret_cast<void*>(static_cast<uintptr_t>(handle)));
  }
  bool empty() { return lci::cq_pop_x(queue).runtime(env.rt)().is_retry(); }

  rank_env& env;
  lci::comp_t queue;
  lci::rcomp_t freed, theirs;
};

}  // namespace

TEST_CASE("the undelivered object gets each active message to a handle that is not registered",
          "[am][remote][undelivered]") {
  const bool acked = GENERATE(false, true);
  INFO("the sender requests remote completion: " << acked);
  on_ranks([acked](rank_env& env) {
    lost_messages lost(env);
    auto sync = lci::alloc_sync_x().runtime(env.rt)();
    lci::tag_t tag = 0;
    for (const size_t size : {size_t{0}, size_t{8}, size_t{2000}, size_t{150'000}}) {
      const auto out = message(size, 1);
      for (const bool invented : {false, true}) {
        const auto there = invented ? lci::rcomp_t{4000} : lost.theirs;
        const auto here = invented ? lci::rcomp_t{4000} : lost.freed;
        ++tag;
        auto s = env.post([&] {
          return lci::post_am_x(env.right(), out.data(), size, sync, there)
              .tag(tag)
              .comp_semantic(acked ? lci::comp_semantic_t::remote : lci::comp_semantic_t::memory)
              .runtime(env.rt)();
        });
        lost.expect(here, size, tag);
        if (s.is_posted()) env.until("the send", [&] { return lci::sync_test_x(sync, &s).runtime(env.rt)(); });
        // Without remote completion or a rendezvous, the sender gets no answer of the target, and no error.
        if (acked || size == 150'000) EXPECT_EQ(s.error, lci::errorcode_t::fatal);
        env.barrier();
      }
    }
    EXPECT(lost.empty());
    env.barrier();
    lci::free_comp_x(&sync).runtime(env.rt)();
  });
}

TEST_CASE("the undelivered object gets the signal of a put or a get to a handle that is not registered",
          "[rma][signal][undelivered]") {
  on_ranks([](rank_env& env) {
    lost_messages lost(env);
    auto sync = lci::alloc_sync_x().runtime(env.rt)();
    window w(env, 4096);
    std::vector<char> mine(1000, 'x');
    const auto put = env.post([&] {
      return lci::post_put_x(env.right(), mine.data(), mine.size(), sync, 0, w.of(env.right()))
          .remote_comp(lost.theirs)
          .tag(3)
          .runtime(env.rt)();
    });
    EXPECT(finished(env, sync, put).is_done());
    lost.expect(lost.freed, mine.size(), 3);
    env.barrier();
    EXPECT_EQ(w.data()[999], 'x');
    const auto get = env.post([&] {
      return lci::post_get_x(env.right(), mine.data(), mine.size(), sync, 0, w.of(env.right()))
          .remote_comp(lost.theirs)
          .tag(4)
          .runtime(env.rt)();
    });
    EXPECT(finished(env, sync, get).is_done());
    lost.expect(lost.freed, mine.size(), 4);
    EXPECT(lost.empty());
    env.barrier();
    lci::free_comp_x(&sync).runtime(env.rt)();
  });
}

TEST_CASE("an undelivered object that was replaced gets no further messages", "[am][undelivered]") {
  on_ranks([](rank_env& env) {
    lost_messages lost(env);
    auto other = lci::alloc_counter_x().runtime(env.rt)();
    lci::set_undelivered_x(other).runtime(env.rt)();
    env.barrier();
    EXPECT(env.post([&] { return lci::post_am_x(env.right(), "?", 1, lci::COMP_NULL, lost.theirs).runtime(env.rt)(); })
               .is_done());
    env.until("the lost message", [&] { return lci::counter_get_x(other).runtime(env.rt)() == 1; });
    EXPECT(lost.empty());
    env.barrier();
    lci::set_undelivered_x(lci::comp_t()).runtime(env.rt)();
    lci::free_comp_x(&other).runtime(env.rt)();
    // Without an object the message is dropped.
    env.barrier();
    EXPECT(env.post([&] { return lci::post_am_x(env.right(), "?", 1, lci::COMP_NULL, lost.theirs).runtime(env.rt)(); })
               .is_done());
    for (int i = 0; i < 50; ++i) env.progress();
    env.barrier();
    EXPECT(lost.empty());
  });
}
