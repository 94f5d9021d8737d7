// Several independent runtimes in a process.
#include <cstdlib>

#include "tests/conformance/inbox.hpp"
#include "tests/conformance/pattern.hpp"

using namespace conf;

TEST_CASE("several runtimes at once do not disturb each other", "[runtimes]") {
  if (ranks_in_one_process() && rank_count() > 1)
    LCI_SKIP("in a sim process each runtime is a rank, and the number of ranks is fixed");
  on_ranks([](rank_env& env) {
    constexpr size_t n = 4;
    std::vector<lci::runtime_t> runtimes;
    for (size_t i = 0; i < n; ++i) runtimes.push_back(lci::alloc_runtime());
    std::vector<lci::comp_t> queues;
    std::vector<lci::rcomp_t> rcomps;
    for (const auto rt : runtimes) {
      queues.push_back(lci::alloc_cq_x().runtime(rt)());
      rcomps.push_back(lci::register_rcomp_x(queues.back()).runtime(rt)());
    }
    env.barrier();
    const int to = ranks_in_one_process() ? 0 : env.right();
    for (uint64_t i = 0; i < n; ++i) {
      lci::status_t s;
      do {
        s = lci::post_am_x(to, &i, sizeof i, lci::COMP_NULL_RETRY, rcomps[i]).tag(100 + i).runtime(runtimes[i])();
      } while (s.is_retry());
    }
    for (size_t i = 0; i < n; ++i) {
      lci::status_t s;
      env.until("a message of each runtime", [&] {
        lci::progress_x().runtime(runtimes[i])();
        return (s = lci::cq_pop_x(queues[i]).runtime(runtimes[i])()).is_done();
      });
      EXPECT_EQ(s.tag, lci::tag_t{100 + i});
      std::free(s.buffer);
      EXPECT(lci::cq_pop_x(queues[i]).runtime(runtimes[i])().is_retry());
    }
    env.barrier();
    for (size_t i = 0; i < n; ++i) {
      lci::free_comp_x(&queues[i]).runtime(runtimes[i])();
      lci::free_runtime(&runtimes[i]);
      EXPECT(runtimes[i].is_empty());
    }
  });
}

TEST_CASE("runtimes can be allocated and freed repeatedly", "[runtimes]") {
  for (int i = 0; i < 20; ++i)
    on_ranks([](rank_env& env) {
      inbox box(env, inbox_kind::counter, 1);
      const uint64_t word = 1;
      const auto rcomps = env.all_gather(box.rcomp());
      env.post([&] {
        return lci::post_am_x(env.right(), &word, sizeof word, lci::COMP_NULL_RETRY,
                              rcomps[static_cast<size_t>(env.right())])
            .runtime(env.rt)();
      });
      box.collect();
      EXPECT(box.empty());
    });
}

TEST_CASE("the global runtime is reference-counted and used by default", "[runtimes]") {
  if (ranks_in_one_process() && rank_count() > 1) LCI_SKIP("one process is one rank for the global runtime");
  on_ranks([](rank_env& env) {
    auto rt = lci::g_runtime_init();
    EXPECT(!rt.is_empty());
    EXPECT(lci::get_g_runtime() == rt);
    EXPECT_EQ(lci::get_rank_me(), env.rank);
    EXPECT_EQ(lci::get_rank_n(), env.size);
    auto cq = lci::alloc_cq();
    const auto rcomp = lci::register_rcomp(cq);
    env.barrier();
    const uint64_t word = 42;
    const int to = ranks_in_one_process() ? 0 : env.right();
    lci::status_t s;
    do s = lci::post_am(to, &word, sizeof word, lci::COMP_NULL_RETRY, rcomp);
    while (s.is_retry());
    env.until("a message", [&] {
      lci::progress();
      return (s = lci::cq_pop(cq)).is_done();
    });
    uint64_t got = 0;
    std::memcpy(&got, s.buffer, sizeof got);
    EXPECT_EQ(got, uint64_t{42});
    std::free(s.buffer);
    env.barrier();
    lci::free_comp(&cq);
    lci::g_runtime_fina();
    EXPECT(lci::get_g_runtime().is_empty());
    EXPECT_INVALID(lci::progress(), "runtime", "g_runtime_init");
  });
}

TEST_CASE("global_initialize does not replace an existing default runtime", "[runtimes]") {
  if (ranks_in_one_process() && rank_count() > 1) LCI_SKIP("one process is one rank for the global runtime");
  on_ranks([](rank_env& env) {
    const auto rt = lci::g_runtime_init();
    lci::global_initialize();
    lci::global_initialize();
    EXPECT(lci::get_g_runtime() == rt);
    lci::global_finalize();
    lci::global_finalize();
    EXPECT(lci::get_g_runtime() == rt);
    lci::global_initialize();
    lci::g_runtime_fina();
    EXPECT(lci::get_g_runtime().is_empty());
    EXPECT_EQ(lci::get_rank_me(), env.rank);
    lci::global_finalize();
    lci::global_finalize();  // one call too many has no effect
  });
}

TEST_CASE("g_runtime_init and g_runtime_fina count references", "[runtimes]") {
  if (ranks_in_one_process() && rank_count() > 1) LCI_SKIP("one process is one rank for the global runtime");
  on_ranks([](rank_env& env) {
    for (int round = 0; round < 2; ++round) {
      const auto rt = lci::g_runtime_init();
      EXPECT(!rt.is_empty());
      EXPECT(lci::g_runtime_init() == rt);
      EXPECT(lci::g_runtime_init() == rt);
      lci::g_runtime_fina();
      lci::g_runtime_fina();
      EXPECT(lci::get_g_runtime() == rt);
      lci::g_runtime_fina();
      EXPECT(lci::get_g_runtime().is_empty());
      EXPECT_INVALID(lci::g_runtime_fina(), "runtime", "g_runtime_init");
      env.barrier();
    }
  });
}

TEST_CASE("a g_runtime_init that throws is not counted", "[runtimes]") {
  if (ranks_in_one_process() && rank_count() > 1) LCI_SKIP("one process is one rank for the global runtime");
  on_ranks([](rank_env& env) {
    const lci::global_attr_t before = lci::get_g_default_attr();
    lci::global_attr_t wrong = before;
    wrong.npackets = 0;
    lci::set_g_default_attr(wrong);
    EXPECT_INVALID(lci::g_runtime_init(), "npackets", "0");
    lci::set_g_default_attr(before);
    EXPECT(lci::get_g_runtime().is_empty());
    env.barrier();
    EXPECT(!lci::g_runtime_init().is_empty());
    lci::g_runtime_fina();
    EXPECT(lci::get_g_runtime().is_empty());
  });
}

TEST_CASE("a runtime that was freed, or that still has devices of the user, can't be freed", "[runtimes]") {
  if (ranks_in_one_process() && rank_count() > 1)
    LCI_SKIP("in a sim process each runtime is a rank, and the number of ranks is fixed");
  on_ranks([](rank_env& env) {
    auto rt = lci::alloc_runtime();
    auto copy = rt;
    auto device = lci::alloc_device_x().runtime(rt)();
    EXPECT_INVALID(lci::free_runtime(&rt), "devices of the user", "1");
    EXPECT(lci::get_default_device_x().runtime(rt)().get_attr_uid() == 0);  // nothing was freed
    env.barrier();
    lci::free_device_x(&device).runtime(rt)();
    lci::free_runtime(&rt);
    EXPECT_INVALID(lci::free_runtime(&copy), "runtime", "not yet freed");
  });
}

TEST_CASE("a runtime can be allocated without default resources", "[runtimes]") {
  on_ranks([](rank_env& env) {
    EXPECT(!lci::get_default_packet_pool_x().runtime(env.rt)().is_empty());
    EXPECT(!lci::get_default_matching_engine_x().runtime(env.rt)().is_empty());
    EXPECT(!lci::get_default_endpoint_x().runtime(env.rt)().is_empty());
    EXPECT(!lci::get_default_net_context_x().runtime(env.rt)().is_empty());
    if (ranks_in_one_process() && env.size > 1) return;
    auto bare = lci::alloc_runtime_x()
                    .alloc_default_device(false)
                    .alloc_default_packet_pool(false)
                    .alloc_default_matching_engine(false)();
    char b[8] = {};
    EXPECT_INVALID(lci::post_am_x(0, b, 8, lci::COMP_NULL, 1).runtime(bare)(), "device", ".device()");
    EXPECT(!bare.get_attr_alloc_default_device());
    lci::free_runtime(&bare);
  });
}
