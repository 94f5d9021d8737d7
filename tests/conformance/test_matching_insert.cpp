// A matching engine used directly: values of the user instead of messages.
#include <set>

#include "tests/conformance/inbox.hpp"
#include "tests/conformance/pattern.hpp"

using namespace conf;

namespace {

constexpr auto send = lci::matching_entry_type_t::send;
constexpr auto recv = lci::matching_entry_type_t::recv;

}  // namespace

TEST_CASE("values of one type wait for values of the other type with the same key", "[matching]") {
  on_ranks([](rank_env& env) {
    auto engine = lci::alloc_matching_engine_x().runtime(env.rt)();
    int values[10] = {};
    const auto insert = [&](lci::matching_entry_key_t key, int i, lci::matching_entry_type_t type) {
      return lci::matching_engine_insert(engine, key, &values[i], type);
    };
    const lci::matching_entry_key_t keys[] = {0, 1, ~lci::matching_entry_key_t{0}};
    for (const auto key : keys) {
      EXPECT(insert(key, 0, send) == nullptr);
      EXPECT(insert(key, 1, send) == nullptr);
    }
    for (const auto key : keys) {
      EXPECT(insert(key, 2, recv) == &values[0]);  // the oldest
      EXPECT(insert(key, 3, recv) == &values[1]);
      EXPECT(insert(key, 4, recv) == nullptr);
      EXPECT(insert(key, 5, send) == &values[4]);
    }
    lci::free_matching_engine_x(&engine).runtime(env.rt)();
  });
}

TEST_CASE("values that remain in an engine are not freed with it", "[matching]") {
  on_ranks([](rank_env& env) {
    for (const auto type : {send, recv}) {
      auto engine = lci::alloc_matching_engine_x().runtime(env.rt)();
      std::vector<long> values(100, 7);  // none of them is allocated by malloc, or an operation
      for (size_t i = 0; i < values.size(); ++i)
        EXPECT(lci::matching_engine_insert_x(engine, i % 10, &values[i], type).runtime(env.rt)() == nullptr);
      lci::free_matching_engine_x(&engine).runtime(env.rt)();
      EXPECT(values == std::vector<long>(100, 7));
    }
  });
}

TEST_CASE("messages and values of the user never match in an engine", "[matching]") {
  on_ranks([](rank_env& env) {
    const auto rt = env.rt;
    auto engine =
        lci::alloc_matching_engine_x()
            .make_key([](int, lci::tag_t tag, lci::matching_policy_t) { return lci::matching_entry_key_t{tag}; })
            .runtime(rt)();
    env.barrier();
    int value = 0, other = 0;
    const auto waiting = lci::matching_engine_insert(engine, 5, &value, send);
    EXPECT(waiting == nullptr);
    auto sync = lci::alloc_sync_x().runtime(rt)();
    uint64_t in = 0;
    const uint64_t out = 77;
    // Neither the receive nor the message matches the value.
    const auto r =
        lci::post_recv_x(env.left(), &in, sizeof in, 5, sync).matching_engine(engine).allow_done(false).runtime(rt)();
    EXPECT(r.is_posted());
    env.post([&] {
      return lci::post_send_x(env.right(), &out, sizeof out, 5, lci::COMP_NULL_RETRY)
          .matching_engine(engine)
          .runtime(rt)();
    });
    env.until("the message", [&] { return lci::sync_test_x(sync, nullptr).runtime(rt)(); });
    EXPECT_EQ(in, out);
    // An unexpected message does not match a value either.
    env.barrier();
    env.post([&] {
      return lci::post_send_x(env.right(), &out, sizeof out, 6, lci::COMP_NULL_RETRY)
          .matching_engine(engine)
          .runtime(rt)();
    });
    env.barrier();
    for (int i = 0; i < 50; ++i) env.progress();
    EXPECT(lci::matching_engine_insert(engine, 6, &other, recv) == nullptr);
    EXPECT(lci::matching_engine_insert(engine, 5, &other, recv) == &value);
    env.barrier();
    lci::free_comp_x(&sync).runtime(rt)();
    lci::free_matching_engine_x(&engine).runtime(rt)();
  });
}

TEST_CASE("values inserted by several threads match, each once", "[matching]") {
  on_ranks([](rank_env& env) {
    constexpr size_t count = 2000;
    constexpr int threads = 4;
    auto engine = lci::alloc_matching_engine_x().runtime(env.rt)();
    std::vector<char> values(threads * count);
    std::vector<std::vector<void*>> found(threads);
    env.parallel(threads, [&](int t) {
      // Half of the threads insert values of type send, the others of type recv.
      for (size_t i = 0; i < count; ++i)
        if (void* match = lci::matching_engine_insert(engine, i % 50, &values[static_cast<size_t>(t) * count + i],
                                                      t % 2 ? send : recv))
          found[static_cast<size_t>(t)].push_back(match);
    });
    std::set<void*> distinct;
    size_t n = 0, foreign = 0;
    for (const auto& list : found) {
      n += list.size();
      for (void* p : list) {
        distinct.insert(p);
        foreign += p < values.data() || p >= values.data() + values.size();
      }
    }
    EXPECT_EQ(n, threads * count / 2);
    EXPECT_EQ(distinct.size(), n);
    EXPECT_EQ(foreign, size_t{0});
    lci::free_matching_engine_x(&engine).runtime(env.rt)();
  });
}

TEST_CASE("values that would look like no match are refused", "[invalid]") {
  on_ranks([](rank_env& env) {
    auto engine = lci::alloc_matching_engine_x().runtime(env.rt)();
    char value = 0;
    EXPECT_INVALID(lci::matching_engine_insert(engine, 1, nullptr, send), "value", "nullptr");
    EXPECT_INVALID(lci::matching_engine_insert(engine, 1, &value, static_cast<lci::matching_entry_type_t>(2)),
                   "entry_type", "2");
    EXPECT(lci::matching_engine_insert(engine, 1, &value, recv) == nullptr);
    lci::free_matching_engine_x(&engine).runtime(env.rt)();
  });
}
