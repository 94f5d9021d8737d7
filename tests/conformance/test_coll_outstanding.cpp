// Collective operations that are outstanding: many at a time, behind messages that can't be sent, and when their device
// is freed.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "tests/conformance/pattern.hpp"

using namespace conf;

namespace {

/// Posts messages to the right neighbour, which makes no progress, until a post returns retry or a limit is reached.
void fill_way_to_neighbour(rank_env& env, lci::device_t device, lci::rcomp_t sink) {
  const auto out = message(8, 1);
  for (int i = 0; i < 20'000; ++i)
    if (lci::post_am_x(env.right(), out.data(), out.size(), lci::COMP_NULL_RETRY, sink)
            .device(device)
            .runtime(env.rt)()
            .is_retry())
      return;
}

}  // namespace

TEST_CASE("any number of collectives may be outstanding", "[coll]") {
  on_ranks([](rank_env& env) {
    constexpr size_t n = 6000;  // more than there are numbers of operations in tags
    auto ended = lci::alloc_counter_x().runtime(env.rt)();
    std::vector<uint64_t> values(n);
    for (size_t i = 0; i < n; ++i) {
      const int root = static_cast<int>(i / 700) % env.size;
      if (root == env.rank) values[i] = i + 1;
      lci::broadcast_x(&values[i], 8, root).comp(ended).runtime(env.rt)();
    }
    env.until("all broadcasts", [&] { return lci::counter_get_x(ended).runtime(env.rt)() == n; });
    size_t wrong = 0;
    for (size_t i = 0; i < n; ++i) wrong += values[i] != i + 1;
    EXPECT_EQ(wrong, size_t{0});
    lci::free_comp_x(&ended).runtime(env.rt)();
  });
}

TEST_CASE("a ring broadcast may be cut into more pieces than there are tags", "[coll]") {
  on_ranks([](rank_env& env) {
    constexpr size_t n = 9000;
    std::vector<uint64_t> values(n);
    if (env.rank == 0)
      for (size_t i = 0; i < n; ++i) values[i] = i + 1;
    lci::broadcast_x(values.data(), n * 8, 0)
        .algorithm(lci::broadcast_algorithm_t::ring)
        .ring_nsteps(n)
        .runtime(env.rt)();
    size_t wrong = 0;
    for (size_t i = 0; i < n; ++i) wrong += values[i] != i + 1;
    EXPECT_EQ(wrong, size_t{0});
  });
}

TEST_CASE("a rank whose part of a collective operation has ended may wait without progress", "[coll]") {
  on_ranks([](rank_env& env) {
    const auto sink = lci::register_rcomp_x(lci::comp_t()).runtime(env.rt)();
    auto ended = lci::alloc_counter_x().runtime(env.rt)();
    uint64_t value = env.rank == 0 ? 7 : 0;
    env.barrier();
    if (env.rank == 0) {
      fill_way_to_neighbour(env, env.device, sink);
      lci::broadcast_x(&value, 8, 0).comp(ended).runtime(env.rt)();
      lci::progress_x().device(env.device)();  // queues the message
    }
    env.barrier_at_rest();
    if (env.rank != 0) lci::broadcast_x(&value, 8, 0).comp(ended).runtime(env.rt)();
    env.until("the broadcast", [&] { return lci::counter_get_x(ended).runtime(env.rt)() == 1; });
    EXPECT_EQ(value, uint64_t{7});
    env.barrier_at_rest();
    lci::free_comp_x(&ended).runtime(env.rt)();
    lci::deregister_rcomp_x(sink).runtime(env.rt)();
  });
}

TEST_CASE("collectives that can't send yet end when their device is freed", "[coll][ends]") {
  on_ranks([](rank_env& env) {
    constexpr int64_t n = 4200;  // more than may send before others have ended
    const auto sink = lci::register_rcomp_x(lci::comp_t()).runtime(env.rt)();
    auto device = lci::alloc_device_x().runtime(env.rt)();
    lci::barrier_x().device(device).runtime(env.rt)();
    auto ended = lci::alloc_counter_x().runtime(env.rt)();
    std::vector<uint64_t> values(n);
    if (env.rank == 0) {
      fill_way_to_neighbour(env, device, sink);
      for (uint64_t& each : values) lci::broadcast_x(&each, 8, 0).comp(ended).device(device).runtime(env.rt)();
    }
    env.barrier_at_rest();
    lci::free_device_x(&device).runtime(env.rt)();
    for (int i = 0; i < 100; ++i) lci::progress_x().device(env.device)();
    const int64_t begun = env.rank == 0 ? n : 0;
    EXPECT_EQ(lci::counter_get_x(ended).runtime(env.rt)(), begun);
    env.barrier();
    lci::free_comp_x(&ended).runtime(env.rt)();
    lci::deregister_rcomp_x(sink).runtime(env.rt)();
  });
}
