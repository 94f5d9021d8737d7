// Completion objects alone: the tests signal them, from several threads.
#include <thread>

#include "tests/conformance/inbox.hpp"

using namespace conf;

namespace {

lci::status_t done_with(lci::tag_t tag) {
  lci::status_t s(lci::errorcode_t::done);
  s.tag = tag;
  return s;
}

}  // namespace

TEST_CASE("a queue returns each status once, whichever thread has pushed it", "[comp]") {
  const int threads = GENERATE(1, 2, 4);
  const auto type = GENERATE(lci::attr_cq_type_t::lcrq, lci::attr_cq_type_t::array_atomic, lci::attr_cq_type_t::fifo);
  INFO(threads << " producers and as many consumers");
  on_ranks([=](rank_env& env) {
    constexpr int each = 3000;
    auto cq = lci::alloc_cq_x().cq_type(type).runtime(env.rt)();
    std::vector<std::atomic<int>> seen(static_cast<size_t>(threads * each));
    std::atomic<int> popped{0};
    env.parallel(2 * threads, [&](int t) {
      if (t < threads) {
        for (int i = 0; i < each; ++i)
          lci::comp_signal_x(cq, done_with(static_cast<lci::tag_t>(t * each + i))).runtime(env.rt)();
        return;
      }
      env.until("all entries", [&] {
        const auto s = lci::cq_pop_x(cq).runtime(env.rt)();
        if (s.is_done()) {
          ++seen.at(s.tag);
          ++popped;
        }
        return popped.load() == threads * each;
      });
    });
    bool once = true;
    for (const auto& n : seen) once &= n.load() == 1;
    EXPECT(once);
    EXPECT(lci::cq_pop_x(cq).runtime(env.rt)().is_retry());
    lci::free_comp_x(&cq).runtime(env.rt)();
  });
}

TEST_CASE("a queue returns many statuses in one call, each once, and those of each thread in order", "[comp]") {
  const int threads = GENERATE(1, 3);
  const auto type = GENERATE(lci::attr_cq_type_t::lcrq, lci::attr_cq_type_t::array_atomic, lci::attr_cq_type_t::fifo);
  INFO(threads << " producers");
  on_ranks([=](rank_env& env) {
    constexpr int each = 2000;
    auto cq = lci::alloc_cq_x().cq_type(type).cq_default_length(64).runtime(env.rt)();
    lci::status_t some[100];
    EXPECT_EQ(lci::cq_pop_many_x(cq, 100, some).runtime(env.rt)(), size_t{0});
    EXPECT_EQ(lci::cq_pop_many_x(cq, 0, nullptr).runtime(env.rt)(), size_t{0});
    std::vector<int> next(static_cast<size_t>(threads), 0);
    int popped = 0;
    bool in_order = true;
    env.parallel(threads + 1, [&](int t) {
      if (t < threads) {
        for (int i = 0; i < each; ++i)
          lci::comp_signal_x(cq, done_with(static_cast<lci::tag_t>(t * each + i))).runtime(env.rt)();
        return;
      }
      env.until("all entries", [&] {
        const size_t n = lci::cq_pop_many_x(cq, 100, some).runtime(env.rt)();
        for (size_t k = 0; k < n; ++k) {
          const int tag = static_cast<int>(some[k].tag);
          in_order &= some[k].is_done() && next.at(static_cast<size_t>(tag / each))++ == tag % each;
        }
        popped += static_cast<int>(n);
        return popped == threads * each;
      });
    });
    EXPECT(in_order);
    EXPECT_EQ(lci::cq_pop_many_x(cq, 100, some).runtime(env.rt)(), size_t{0});
    EXPECT_INVALID(lci::cq_pop_many_x(cq, 1, nullptr).runtime(env.rt)(), "statuses", "null");
    auto counter = lci::alloc_counter_x().runtime(env.rt)();
    EXPECT_INVALID(lci::cq_pop_many_x(counter, 100, some).runtime(env.rt)(), "cq_pop_many", "a counter");
    EXPECT_INVALID(lci::cq_pop_many_x(lci::COMP_NULL, 100, some).runtime(env.rt)(), "cq_pop_many", "COMP_NULL");
    lci::free_comp_x(&counter).runtime(env.rt)();
    lci::free_comp_x(&cq).runtime(env.rt)();
  });
}

TEST_CASE("a queue of type fifo returns statuses in the order in which any threads pushed them", "[comp]") {
  on_ranks([](rank_env& env) {
    auto cq = lci::alloc_cq_x().cq_type(lci::attr_cq_type_t::fifo).runtime(env.rt)();
    constexpr lci::tag_t count = 600;
    constexpr int threads = 3;
    std::atomic<lci::tag_t> turn{0};
    env.parallel(threads, [&](int t) {
      for (auto i = static_cast<lci::tag_t>(t); i < count; i += threads) {
        env.until("my turn", [&] { return turn.load() == i; });
        lci::comp_signal_x(cq, done_with(i)).runtime(env.rt)();
        turn.fetch_add(1);
      }
    });
    bool in_order = true;
    for (lci::tag_t i = 0; i < count; ++i) in_order &= lci::cq_pop_x(cq).runtime(env.rt)().tag == i;
    EXPECT(in_order);
    EXPECT(lci::cq_pop_x(cq).runtime(env.rt)().is_retry());
    EXPECT_INVALID(lci::alloc_cq_x().cq_type(static_cast<lci::attr_cq_type_t>(9)).runtime(env.rt)(), "cq_type", "fifo");
    lci::free_comp_x(&cq).runtime(env.rt)();
  });
}

TEST_CASE("a queue holds more statuses than its default length without losing any", "[comp]") {
  const auto type = GENERATE(lci::attr_cq_type_t::lcrq, lci::attr_cq_type_t::array_atomic, lci::attr_cq_type_t::fifo);
  on_ranks([type](rank_env& env) {
    auto cq = lci::alloc_cq_x().cq_type(type).cq_default_length(16).runtime(env.rt)();
    constexpr lci::tag_t count = 1000;
    for (lci::tag_t i = 0; i < count; ++i) lci::comp_signal_x(cq, done_with(i)).runtime(env.rt)();
    std::vector<int> seen(count, 0);
    for (lci::tag_t i = 0; i < count; ++i) {
      const auto s = lci::cq_pop_x(cq).runtime(env.rt)();
      EXPECT(s.is_done());
      if (s.is_done()) ++seen.at(s.tag);
    }
    EXPECT(seen == std::vector<int>(count, 1));
    EXPECT(lci::cq_pop_x(cq).runtime(env.rt)().is_retry());
    lci::free_comp_x(&cq).runtime(env.rt)();
  });
}

TEST_CASE("a synchronizer is ready at its threshold and can be used again", "[comp]") {
  const int threshold = GENERATE(1, 2, 7);
  INFO("threshold " << threshold);
  on_ranks([threshold](rank_env& env) {
    auto sync = lci::alloc_sync_x().threshold(threshold).runtime(env.rt)();
    EXPECT_EQ(sync.get_attr_sync_threshold(), threshold);
    std::vector<lci::status_t> out(static_cast<size_t>(threshold));
    for (int round = 0; round < 3; ++round) {
      for (int i = 0; i < threshold; ++i) {
        EXPECT(!lci::sync_test_x(sync, out.data()).runtime(env.rt)());
        lci::comp_signal_x(sync, done_with(static_cast<lci::tag_t>(i + 1))).runtime(env.rt)();
      }
      EXPECT(lci::sync_test_x(sync, out.data()).runtime(env.rt)());
      lci::tag_t sum = 0;
      for (const auto& s : out) sum += s.tag;
      EXPECT_EQ(sum, static_cast<lci::tag_t>(threshold * (threshold + 1) / 2));
    }
    EXPECT(!lci::sync_test_x(sync, nullptr).runtime(env.rt)());
    lci::free_comp_x(&sync).runtime(env.rt)();
  });
}

TEST_CASE("a counter counts the signals of several threads and can be set", "[comp]") {
  const int threads = GENERATE(1, 2, 4);
  on_ranks([threads](rank_env& env) {
    auto counter = lci::alloc_counter_x().runtime(env.rt)();
    EXPECT_EQ(lci::counter_get_x(counter).runtime(env.rt)(), int64_t{0});
    env.parallel(threads, [&](int) {
      for (int i = 0; i < 1000; ++i) lci::comp_signal_x(counter, done_with(0)).runtime(env.rt)();
    });
    EXPECT_EQ(lci::counter_get_x(counter).runtime(env.rt)(), int64_t{1000} * threads);
    lci::counter_set_x(counter, -5).runtime(env.rt)();
    lci::comp_signal_x(counter, done_with(0)).runtime(env.rt)();
    EXPECT_EQ(lci::counter_get_x(counter).runtime(env.rt)(), int64_t{-4});
    for (const int64_t outside : {int64_t{1} << 62, -(int64_t{1} << 62) - 1}) {
      // The values of 63 bits nearest to it can be set, and read again.
      const int64_t inside = outside < 0 ? outside + 1 : outside - 1;
      lci::counter_set_x(counter, inside).runtime(env.rt)();
      EXPECT_INVALID(lci::counter_set_x(counter, outside).runtime(env.rt)(), "value", std::to_string(outside).c_str());
      EXPECT_EQ(lci::counter_get_x(counter).runtime(env.rt)(), inside);
    }
    lci::free_comp_x(&counter).runtime(env.rt)();
  });
}

TEST_CASE("a user's completion object is signalled like the built-in ones", "[comp]") {
  struct own : lci::comp_impl_t {
    void signal(lci::status_t s) override { last = s; }
    lci::status_t last;
  };
  on_ranks([](rank_env& env) {
    own mine;
    lci::comp_t comp(&mine);
    EXPECT(comp.get_impl() == &mine);
    EXPECT(comp.get_attr_comp_type() == lci::attr_comp_type_t::custom);
    lci::comp_signal_x(comp, done_with(8)).runtime(env.rt)();
    EXPECT_EQ(mine.last.tag, lci::tag_t{8});
  });
}

TEST_CASE("remote completion handles can be reserved, and registered later", "[comp]") {
  on_ranks([](rank_env& env) {
    auto a = lci::alloc_counter_x().runtime(env.rt)();
    auto b = lci::alloc_counter_x().runtime(env.rt)();
    const lci::rcomp_t first = lci::reserve_rcomps_x(10).runtime(env.rt)();
    EXPECT(first != 0);
    const auto after = lci::register_rcomp_x(a).runtime(env.rt)();
    EXPECT(after >= first + 10 || after < first);
    EXPECT_EQ(lci::register_rcomp_x(b).rcomp(first + 3).runtime(env.rt)(), first + 3);
    env.barrier();
    const uint64_t word = 0;
    for (const auto rcomp : {after, first + 3})
      env.post([&] {
        return lci::post_am_x(env.right(), &word, sizeof word, lci::COMP_NULL_RETRY, rcomp).runtime(env.rt)();
      });
    env.until("both messages", [&] {
      return lci::counter_get_x(a).runtime(env.rt)() == 1 && lci::counter_get_x(b).runtime(env.rt)() == 1;
    });
    env.barrier();
    lci::deregister_rcomp_x(first + 3).runtime(env.rt)();
    lci::deregister_rcomp_x(after).runtime(env.rt)();
    lci::free_comp_x(&a).runtime(env.rt)();
    lci::free_comp_x(&b).runtime(env.rt)();
  });
}
