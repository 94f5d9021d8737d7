// Invalid arguments: a typed error names the argument and its value, and nothing is posted.
#include <cmath>
#include <limits>

#include "tests/conformance/inbox.hpp"
#include "tests/conformance/window.hpp"

using namespace conf;

namespace {

void expect_nothing_posted(rank_env& env, inbox& box) {
  for (int i = 0; i < 20; ++i) env.progress();
  EXPECT(lci::test_drained_x().runtime(env.rt)().is_done());
  EXPECT(box.empty());
  env.barrier();
  EXPECT(box.empty());
}

}  // namespace

TEST_CASE("posts refuse ranks that do not exist", "[invalid]") {
  on_ranks([](rank_env& env) {
    inbox box(env, inbox_kind::queue_lcrq, 1);
    window w(env, 64);
    char b[8] = {};
    const auto rt = env.rt;
    for (const int bad : {-2, env.size, std::numeric_limits<int>::max()}) {
      const auto value = std::to_string(bad);
      EXPECT_INVALID(lci::post_am_x(bad, b, 8, box.comp(), box.rcomp()).runtime(rt)(), "rank", value);
      EXPECT_INVALID(lci::post_send_x(bad, b, 8, 1, box.comp()).runtime(rt)(), "rank", value);
      EXPECT_INVALID(lci::post_recv_x(bad, b, 8, 1, box.comp()).runtime(rt)(), "rank", value);
      EXPECT_INVALID(lci::post_put_x(bad, b, 8, box.comp(), 0, w.of(0)).runtime(rt)(), "rank", value);
      EXPECT_INVALID(lci::post_get_x(bad, b, 8, box.comp(), 0, w.of(0)).runtime(rt)(), "rank", value);
      EXPECT_INVALID(lci::post_comm_x(lci::direction_t::OUT, bad, b, 8, box.comp()).runtime(rt)(), "rank", value);
    }
    // A wildcard is for receives only.
    EXPECT_INVALID(lci::post_send_x(lci::ANY_SOURCE, b, 8, 1, box.comp()).runtime(rt)(), "rank", "-1 (ANY_SOURCE)");
    expect_nothing_posted(env, box);
  });
}

TEST_CASE("posts refuse a null buffer with a size above 0", "[invalid]") {
  on_ranks([](rank_env& env) {
    inbox box(env, inbox_kind::queue_lcrq, 1);
    window w(env, 64);
    const auto rt = env.rt;
    for (const size_t size : {size_t{8}, size_t{150'000}}) {
      EXPECT_INVALID(lci::post_am_x(0, nullptr, size, box.comp(), box.rcomp()).runtime(rt)(), "local_buffer",
                     "nullptr");
      EXPECT_INVALID(lci::post_send_x(0, nullptr, size, 1, box.comp()).runtime(rt)(), "local_buffer", "nullptr");
      EXPECT_INVALID(lci::post_recv_x(0, nullptr, size, 1, box.comp()).runtime(rt)(), "local_buffer", "nullptr");
    }
    EXPECT_INVALID(lci::post_put_x(0, nullptr, 8, box.comp(), 0, w.of(0)).runtime(rt)(), "local_buffer", "nullptr");
    EXPECT_INVALID(lci::post_get_x(0, nullptr, 8, box.comp(), 0, w.of(0)).runtime(rt)(), "local_buffer", "nullptr");
    expect_nothing_posted(env, box);
  });
}

TEST_CASE("posts refuse tags beyond max_tag", "[invalid]") {
  on_ranks([](rank_env& env) {
    inbox box(env, inbox_kind::queue_lcrq, 1);
    window w(env, 64);
    char b[8] = {};
    const auto rt = env.rt;
    const lci::tag_t bad = rt.get_attr_max_tag() + 1;
    const auto value = std::to_string(bad);
    EXPECT_INVALID(lci::post_am_x(0, b, 8, box.comp(), box.rcomp()).tag(bad).runtime(rt)(), "tag", value);
    EXPECT_INVALID(lci::post_send_x(0, b, 8, bad, box.comp()).runtime(rt)(), "tag", value);
    EXPECT_INVALID(lci::post_recv_x(0, b, 8, bad, box.comp()).runtime(rt)(), "tag", value);
    EXPECT_INVALID(lci::post_put_x(0, b, 8, box.comp(), 0, w.of(0)).remote_comp(box.rcomp()).tag(bad).runtime(rt)(),
                   "tag", value);
    EXPECT_INVALID(lci::post_send_x(0, b, 8, lci::ANY_TAG, box.comp()).runtime(rt)(), "tag",
                   std::to_string(lci::ANY_TAG) + " (ANY_TAG)");
    expect_nothing_posted(env, box);
  });
}

TEST_CASE("puts and gets refuse memory that is not registered", "[invalid]") {
  on_ranks([](rank_env& env) {
    inbox box(env, inbox_kind::queue_lcrq, 1);
    window w(env, 64);
    char b[8] = {};
    const auto rt = env.rt;
    EXPECT_INVALID(lci::post_put_x(0, b, 8, box.comp(), 0, lci::RMR_NULL).runtime(rt)(), "rmr", "empty");
    EXPECT_INVALID(lci::post_get_x(0, b, 8, box.comp(), 0, lci::RMR_NULL).runtime(rt)(), "rmr", "empty");
    for (const uintptr_t disp : {uintptr_t{57}, uintptr_t{64}, ~uintptr_t{0}, ~uintptr_t{0} - 7}) {
      const auto value = std::to_string(disp);
      EXPECT_INVALID(lci::post_put_x(0, b, 8, box.comp(), disp, w.of(0)).runtime(rt)(), "remote_disp", value);
      EXPECT_INVALID(lci::post_get_x(0, b, 8, box.comp(), disp, w.of(0)).runtime(rt)(), "remote_disp", value);
    }
    expect_nothing_posted(env, box);
    EXPECT(w.untouched_but(0, 0));
    // The last bytes are still inside.
    EXPECT(lci::post_put_x(env.rank, b, 8, lci::COMP_NULL, 56, w.of(env.rank)).runtime(rt)().is_done());
  });
}

TEST_CASE("memory registered with one device is refused by another", "[invalid]") {
  on_ranks([](rank_env& env) {
    inbox box(env, inbox_kind::queue_lcrq, 1);
    const auto rt = env.rt;
    auto second = lci::alloc_device_x().runtime(rt)();
    {
      window w(env, 64);
      std::vector<char> large(200'000);
      auto mr = lci::register_memory_x(large.data(), large.size()).runtime(rt)();
      const auto value = std::to_string(env.device.get_attr_uid());
      EXPECT_INVALID(lci::post_put_x(0, large.data(), 8, box.comp(), 0, w.of(0)).device(second).runtime(rt)(), "rmr",
                     value);
      EXPECT_INVALID(lci::post_get_x(0, large.data(), 8, box.comp(), 0, w.of(0)).device(second).runtime(rt)(), "rmr",
                     value);
      EXPECT_INVALID(lci::post_send_x(0, large.data(), large.size(), 1, box.comp()).mr(mr).device(second).runtime(rt)(),
                     "mr", value);
      EXPECT_INVALID(lci::post_recv_x(0, large.data(), large.size(), 1, box.comp()).mr(mr).device(second).runtime(rt)(),
                     "mr", value);
      expect_nothing_posted(env, box);
      EXPECT(w.untouched_but(0, 0));
      lci::deregister_memory_x(&mr).runtime(rt)();
    }
    lci::free_device_x(&second).runtime(rt)();
  });
}

TEST_CASE("an active message needs a remote completion handle", "[invalid]") {
  on_ranks([](rank_env& env) {
    inbox box(env, inbox_kind::queue_lcrq, 1);
    char b[8] = {};
    EXPECT_INVALID(lci::post_am_x(0, b, 8, box.comp(), 0).runtime(env.rt)(), "remote_comp", "0");
    expect_nothing_posted(env, box);
  });
}

TEST_CASE("an active message to a handle that is not registered is dropped and not fatal", "[invalid]") {
  on_ranks([](rank_env& env) {
    inbox box(env, inbox_kind::queue_lcrq, 1);
    const auto rcomps = env.all_gather(box.rcomp());
    char b[8] = {};
    const auto unknown = static_cast<lci::rcomp_t>(4000);
    EXPECT(env.post([&] { return lci::post_am_x(env.right(), b, 8, lci::COMP_NULL, unknown).runtime(env.rt)(); })
               .is_done());
    for (int i = 0; i < 50; ++i) env.progress();
    env.barrier();
    env.post([&] {
      return lci::post_am_x(env.right(), b, 8, lci::COMP_NULL, rcomps[static_cast<size_t>(env.right())])
          .runtime(env.rt)();
    });
    EXPECT_EQ(box.collect().front().status.rank, env.left());
  });
}

TEST_CASE("a message to a deregistered handle does not reach a later handle with the same number", "[invalid]") {
  on_ranks([](rank_env& env) {
    lci::rcomp_t old = 0;
    {
      inbox before(env, inbox_kind::queue_lcrq, 1);
      old = before.rcomp();
    }
    inbox box(env, inbox_kind::queue_lcrq, 1);
    EXPECT(old != box.rcomp());
    const auto olds = env.all_gather(old);
    char b[8] = {};
    env.post([&] {
      return lci::post_am_x(env.right(), b, 8, lci::COMP_NULL, olds[static_cast<size_t>(env.right())])
          .runtime(env.rt)();
    });
    for (int i = 0; i < 100; ++i) env.progress();
    env.barrier();
    EXPECT(box.empty());
  });
}

TEST_CASE("empty handles are refused with their name", "[invalid]") {
  on_ranks([](rank_env& env) {
    const auto rt = env.rt;
    lci::status_t s;
    const lci::comp_t none;
    EXPECT_INVALID(lci::sync_test_x(none, &s).runtime(rt)(), "comp", "");
    EXPECT_INVALID(lci::cq_pop_x(none).runtime(rt)(), "comp", "");
    EXPECT_INVALID(lci::counter_get_x(none).runtime(rt)(), "comp", "");
    EXPECT_INVALID(lci::get_rmr_x(lci::mr_t()).runtime(rt)(), "mr", "");
    EXPECT_INVALID(none.get_impl(), "comp", "");
  });
}

TEST_CASE("an operation on a completion object of another kind is refused", "[invalid]") {
  on_ranks([](rank_env& env) {
    const auto rt = env.rt;
    auto cq = lci::alloc_cq_x().runtime(rt)();
    auto sync = lci::alloc_sync_x().runtime(rt)();
    lci::status_t s;
    EXPECT_INVALID(lci::sync_test_x(cq, &s).runtime(rt)(), "comp", "sync");
    EXPECT_INVALID(lci::cq_pop_x(sync).runtime(rt)(), "comp", "cq");
    EXPECT_INVALID(lci::counter_get_x(cq).runtime(rt)(), "comp", "counter");
    EXPECT_INVALID((lci::counter_set_x(sync, 1).runtime(rt)(), 0), "comp", "counter");
    EXPECT_INVALID(lci::graph_test_x(cq).runtime(rt)(), "comp", "graph");
    lci::free_comp_x(&cq).runtime(rt)();
    lci::free_comp_x(&sync).runtime(rt)();
  });
}

TEST_CASE("a graph is refused where messages would signal it", "[invalid]") {
  on_ranks([](rank_env& env) {
    lci::comp_t graph = lci::alloc_graph_x().runtime(env.rt)();
    EXPECT_INVALID(lci::register_rcomp_x(graph).runtime(env.rt)(), "comp", "a graph");
    EXPECT_INVALID(lci::set_undelivered_x(graph).runtime(env.rt)(), "comp", "a graph");
    const lci::rcomp_t reserved = lci::reserve_rcomps_x(1).runtime(env.rt)();
    EXPECT_INVALID(lci::register_rcomp_x(graph).rcomp(reserved).runtime(env.rt)(), "comp", "a graph");
    lci::free_comp_x(&graph).runtime(env.rt)();
    // The number is still reserved.
    lci::comp_t counter = lci::alloc_counter_x().runtime(env.rt)();
    EXPECT_EQ(lci::register_rcomp_x(counter).rcomp(reserved).runtime(env.rt)(), reserved);
    lci::deregister_rcomp_x(reserved).runtime(env.rt)();
    lci::free_comp_x(&counter).runtime(env.rt)();
  });
}

TEST_CASE("attributes out of range are refused with what they accept", "[invalid]") {
  on_ranks([](rank_env& env) {
    const auto rt = env.rt;
    EXPECT_INVALID(lci::alloc_packet_pool_x().packet_size(100).runtime(rt)(), "packet_size", "100");
    EXPECT_INVALID(lci::alloc_packet_pool_x().npackets(0).runtime(rt)(), "npackets", "0");
    EXPECT_INVALID(lci::alloc_sync_x().threshold(0).runtime(rt)(), "sync_threshold", "0");
    EXPECT_INVALID(lci::alloc_sync_x().threshold(-3).runtime(rt)(), "sync_threshold", "-3");
    EXPECT_INVALID(lci::alloc_cq_x().cq_default_length(-1).runtime(rt)(), "cq_default_length", "-1");
  });
}

TEST_CASE("excessive sizes are refused with a typed error, not with std::bad_alloc", "[invalid]") {
  on_ranks([](rank_env& env) {
    const auto rt = env.rt;
    constexpr int huge = std::numeric_limits<int>::max();
    const auto value = std::to_string(huge);
    EXPECT_INVALID(lci::alloc_sync_x().threshold(huge).runtime(rt)(), "sync_threshold", value);
    EXPECT_INVALID(lci::alloc_cq_x().cq_type(lci::attr_cq_type_t::array_atomic).cq_default_length(huge).runtime(rt)(),
                   "cq_default_length", value);
    EXPECT_INVALID(lci::alloc_packet_pool_x().npackets(size_t{1} << 63).runtime(rt)(), "npackets",
                   std::to_string(size_t{1} << 63));
    EXPECT_INVALID(lci::alloc_cq_x().cq_type(static_cast<lci::attr_cq_type_t>(77)).runtime(rt)(), "cq_type", "77");
  });
}

TEST_CASE("a synchronizer that is not tested refuses signals beyond its limit and keeps the others", "[invalid]") {
  constexpr int kept = 65536;  // in addition to those of the round
  const int threshold = GENERATE(1, 3);
  on_ranks([threshold](rank_env& env) {
    const auto rt = env.rt;
    auto sync = lci::alloc_sync_x().threshold(threshold).runtime(rt)();
    const lci::status_t done(lci::errorcode_t::done);
    for (int i = 0; i < threshold + kept; ++i) lci::comp_signal_x(sync, done).runtime(rt)();
    bool refused = false;
    try {
      lci::comp_signal_x(sync, done).runtime(rt)();
    } catch (const lci::resource_error& e) {
      refused = std::string(e.what()).find("threshold " + std::to_string(threshold)) != std::string::npos;
    }
    EXPECT(refused);
    int rounds = 0;
    while (lci::sync_test_x(sync, nullptr).runtime(rt)()) ++rounds;
    EXPECT_EQ(rounds, (threshold + kept) / threshold);
    lci::free_comp_x(&sync).runtime(rt)();
  });
}

TEST_CASE("posts refuse matching policies that do not exist", "[invalid]") {
  on_ranks([](rank_env& env) {
    inbox box(env, inbox_kind::queue_lcrq, 1);
    char b[8] = {};
    const auto rt = env.rt;
    for (const int bad : {static_cast<int>(lci::matching_policy_t::max), 77, -1}) {
      const auto policy = static_cast<lci::matching_policy_t>(bad);
      const auto value = std::to_string(bad);
      EXPECT_INVALID(lci::post_send_x(0, b, 8, 1, box.comp()).matching_policy(policy).runtime(rt)(), "matching_policy",
                     value);
      EXPECT_INVALID(lci::post_recv_x(0, b, 8, 1, box.comp()).matching_policy(policy).runtime(rt)(), "matching_policy",
                     value);
      EXPECT_INVALID(lci::post_recv_x(lci::ANY_SOURCE, b, 8, 1, box.comp()).matching_policy(policy).runtime(rt)(),
                     "matching_policy", value);
    }
    expect_nothing_posted(env, box);
  });
}

TEST_CASE("a message in a packet may not be longer than a packet holds", "[invalid]") {
  on_ranks([](rank_env& env) {
    inbox box(env, inbox_kind::queue_lcrq, 1);
    const auto rt = env.rt;
    // The packets of the second pool are smaller than the inject limit.
    auto small = lci::alloc_packet_pool_x().packet_size(256).npackets(64).runtime(rt)();
    lci::register_packet_pool(small, env.device);
    auto stream = lci::alloc_stream_x().runtime(rt)();
    for (const lci::packet_pool_t pool : {lci::get_default_packet_pool_x().runtime(rt)(), small}) {
      void* packet = lci::get_upacket_x().packet_pool(pool).runtime(rt)();
      EXPECT(packet != nullptr);
      if (packet == nullptr) continue;
      for (const size_t size :
           {lci::get_max_bcopy_size_x().packet_pool(pool).runtime(rt)() + 1, size_t{1} << 20, size_t{1} << 63}) {
        const auto value = std::to_string(size);
        EXPECT_INVALID(lci::post_am_x(0, packet, size, box.comp(), box.rcomp()).packet_pool(pool).runtime(rt)(), "size",
                       value);
        EXPECT_INVALID(lci::post_am_x(0, packet, size, box.comp(), box.rcomp())
                           .packet_pool(pool)
                           .comp_semantic(lci::comp_semantic_t::remote)
                           .runtime(rt)(),
                       "size", value);
        EXPECT_INVALID(
            lci::post_am_x(0, packet, size, box.comp(), box.rcomp()).packet_pool(pool).stream(stream).runtime(rt)(),
            "size", value);
        EXPECT_INVALID(lci::post_send_x(0, packet, size, 1, box.comp()).packet_pool(pool).runtime(rt)(), "size", value);
      }
      lci::put_upacket_x(packet).runtime(rt)();
    }
    expect_nothing_posted(env, box);
    lci::free_stream_x(&stream).runtime(rt)();
    lci::deregister_packet_pool(small, env.device);
    lci::free_packet_pool_x(&small).runtime(rt)();
  });
}

TEST_CASE("a deadline that is NaN is refused, whatever its sign", "[invalid]") {
  on_ranks([](rank_env& env) {
    inbox box(env, inbox_kind::queue_lcrq, 1);
    window w(env, 64);
    char b[8] = {};
    const auto rt = env.rt;
    for (const double nan : {std::nan(""), -std::nan("")}) {
      const char* const value = "nan";
      EXPECT_INVALID(lci::post_am_x(0, b, 8, box.comp(), box.rcomp()).deadline(nan).runtime(rt)(), "deadline", value);
      EXPECT_INVALID(lci::post_send_x(0, b, 8, 1, box.comp()).deadline(nan).runtime(rt)(), "deadline", value);
      EXPECT_INVALID(lci::post_recv_x(0, b, 8, 1, box.comp()).deadline(nan).runtime(rt)(), "deadline", value);
      EXPECT_INVALID(lci::post_put_x(0, b, 8, box.comp(), 0, w.of(0)).deadline(nan).runtime(rt)(), "deadline", value);
      EXPECT_INVALID(lci::post_get_x(0, b, 8, box.comp(), 0, w.of(0)).deadline(nan).runtime(rt)(), "deadline", value);
    }
    expect_nothing_posted(env, box);
    // Minus infinity is a negative number: there is no deadline.
    if (env.size == 1) {
      EXPECT(lci::post_send_x(0, b, 8, 1, lci::COMP_NULL)
                 .deadline(-std::numeric_limits<double>::infinity())
                 .runtime(rt)()
                 .is_done());
      EXPECT(lci::post_recv_x(0, b, 8, 1, lci::COMP_NULL).runtime(rt)().is_done());
    }
  });
}
