// Blocking posts during which progress() throws for something else.
#include <chrono>
#include <cstdlib>
#include <stdexcept>

#include "tests/conformance/cancelling.hpp"

using namespace conf;

namespace {

struct objection : std::runtime_error {
  objection() : std::runtime_error("a handler of the user's objects") {}
};
void objects(lci::status_t) { throw objection(); }

/// Makes progress once; returns whether a handler has thrown.
bool handler_objects(rank_env& env) {
  try {
    lci::progress_x().runtime(env.rt)();
  } catch (const objection&) {
    return true;
  }
  return false;
}

/// Calls f() until it returns true, for a while at most; returns its last result. Unlike env.until() it makes no
/// progress, which might throw.
template <class F>
bool is_soon(F f) {
  using clock = std::chrono::steady_clock;
  for (const auto end = clock::now() + std::chrono::seconds(10 * lci_test::time_scale); clock::now() < end;)
    if (f()) return true;
  return false;
}

}  // namespace

TEST_CASE("a blocking post that succeeds leaves what a handler throws meanwhile to a later call", "[ends]") {
  const bool has_progress_thread = std::getenv("LCI_ATTR_PROGRESS_THREAD") != nullptr;
  on_ranks([has_progress_thread](rank_env& env) {
    auto thrower = lci::alloc_handler_x(objects).am_in_place(true).runtime(env.rt)();
    const auto rcomp = lci::register_rcomp_x(thrower).runtime(env.rt)();
    EXPECT_EQ(env.all_gather(rcomp)[0], rcomp);
    auto received = lci::alloc_counter_x().runtime(env.rt)();
    const auto n_received = [&] { return lci::counter_get_x(received).runtime(env.rt)(); };
    const char byte = 1;
    char in = 0;
    const auto receive = [&] { EXPECT(lci::post_recv_x(env.rank, &in, 1, 3, received).runtime(env.rt)().is_posted()); };
    const auto send = [&] {
      return lci::post_send_x(env.rank, &byte, 1, 3, lci::COMP_NULL)
          .comp_semantic(lci::comp_semantic_t::remote)
          .runtime(env.rt)();
    };
    const auto call_thrower = [&] {
      env.post([&] { return lci::post_am_x(env.rank, &byte, 1, lci::COMP_NULL_RETRY, rcomp).runtime(env.rt)(); });
    };
    // Sends, and returns whether the first call has thrown; then it has posted nothing, and a second call sends.
    const auto send_throws = [&] {
      const int64_t before = n_received();
      bool thrown = false;
      try {
        EXPECT(send().is_done());
      } catch (const objection&) {
        thrown = true;
        for (int k = 0; k < 100; ++k) EXPECT(!handler_objects(env));
        EXPECT_EQ(n_received(), before);
        EXPECT(send().is_done());
      }
      EXPECT_EQ(n_received(), before + 1);
      return thrown;
    };
    for (int i = 0; i < 20; ++i) {
      receive();
      call_thrower();
      const bool thrown = send_throws();
      EXPECT(!thrown || has_progress_thread);  // which may have called the handler before
      EXPECT(thrown || is_soon([&] { return handler_objects(env); }));
      EXPECT(!handler_objects(env));
    }
    // The next blocking post throws before it posts.
    call_thrower();
    EXPECT(is_soon([&] {
      receive();
      return send_throws();
    }));
    env.barrier();
    drain(env);
    lci::free_comp_x(&received).runtime(env.rt)();
    lci::free_comp_x(&thrower).runtime(env.rt)();
  });
}
