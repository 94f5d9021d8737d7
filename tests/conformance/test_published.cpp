// Published memory: other ranks find its remote key by rank and address.
#include <cstdint>

#include "tests/conformance/window.hpp"

using namespace conf;

namespace {

/// An address at the rank of the remote key.
const void* at(const lci::rmr_t& window, size_t offset) { return reinterpret_cast<const void*>(window.base + offset); }

}  // namespace

TEST_CASE("published memory is written and read by rank and address alone", "[rma]") {
  on_ranks([](rank_env& env) {
    constexpr size_t size = 3000;
    window w(env, size);
    auto mr = lci::register_memory_x(w.data(), size).runtime(env.rt)();
    const int peer = env.right();
    const auto find = [&](size_t offset, size_t n) {
      return lci::find_rmr_x(peer, at(w.of(peer), offset), n).runtime(env.rt)();
    };
    EXPECT(find(0, 8).is_empty());
    env.barrier();
    auto published = lci::publish_memory_x(mr).runtime(env.rt)();
    EXPECT(!published.is_empty());
    auto sync = lci::alloc_sync_x().runtime(env.rt)();
    for (const size_t offset : {size_t{0}, size_t{1}, size_t{1000}, size - 100}) {
      w.clear();
      env.barrier();
      const auto out = message(100, static_cast<uint64_t>(env.rank) + offset);
      const auto put_to = find(offset, 100);
      EXPECT(!put_to.is_empty());
      EXPECT(finished(env, sync, env.post([&] {
               return lci::post_put_x(peer, out.data(), 100, sync, 0, put_to)
                   .comp_semantic(lci::comp_semantic_t::remote)
                   .runtime(env.rt)();
             })).is_done());
      env.barrier();
      EXPECT(matches(w.data() + offset, 100, static_cast<uint64_t>(env.left()) + offset));
      EXPECT(w.untouched_but(offset, 100));
      std::vector<char> back(100);
      EXPECT(finished(env, sync, env.post([&] {
               return lci::post_get_x(peer, back.data(), 100, sync, 0, find(offset, 100)).runtime(env.rt)();
             })).is_done());
      EXPECT(back == std::vector<char>(out.begin(), out.end()));
      env.barrier();
    }
    // Ranges that are partly or wholly outside are not found.
    EXPECT(!find(0, size).is_empty());
    EXPECT(!find(size - 1, 1).is_empty());
    EXPECT(find(0, size + 1).is_empty());
    EXPECT(find(size - 99, 100).is_empty());
    EXPECT(find(size, 1).is_empty());
    EXPECT(lci::find_rmr_x(peer, at(w.of(peer), ~size_t{0}), 1).runtime(env.rt)().is_empty());
    EXPECT(lci::find_rmr_x(peer, at(w.of(peer), 8), ~size_t{0}).runtime(env.rt)().is_empty());
    // The remote key reaches to the end of the registration only, whichever address it was found by.
    EXPECT_INVALID(lci::post_put_x(peer, w.data(), 200, lci::COMP_NULL, 0, find(size - 100, 100)).runtime(env.rt)(),
                   "size", "100");
    env.barrier();
    lci::unpublish_memory_x(&published).runtime(env.rt)();
    EXPECT(published.is_empty());
    EXPECT(find(0, 8).is_empty());
    lci::deregister_memory_x(&mr).runtime(env.rt)();
    lci::free_comp_x(&sync).runtime(env.rt)();
    env.barrier();
  });
}

TEST_CASE("publications may overlap, contain memory of some ranks only, and end independently", "[rma]") {
  on_ranks([](rank_env& env) {
    constexpr size_t size = 1000;
    window w(env, size);
    const int peer = env.right();
    auto inner = lci::register_memory_x(w.data() + 200, 300).runtime(env.rt)();
    auto outer = lci::register_memory_x(w.data(), size).runtime(env.rt)();
    const auto found = [&](size_t offset, size_t n) {
      return !lci::find_rmr_x(peer, at(w.of(peer), offset), n).runtime(env.rt)().is_empty();
    };
    // The inner range of even ranks, then the outer range of all ranks.
    auto some = lci::publish_memory_x(env.rank % 2 == 0 ? inner : lci::MR_HOST).runtime(env.rt)();
    EXPECT_EQ(found(200, 300), peer % 2 == 0);
    EXPECT(!found(199, 2));
    auto all = lci::publish_memory_x(outer).runtime(env.rt)();
    EXPECT(found(200, 300) && found(0, size) && found(450, 200));
    lci::unpublish_memory_x(&some).runtime(env.rt)();
    EXPECT(found(200, 300) && found(0, size));
    some = lci::publish_memory_x(inner).runtime(env.rt)();
    lci::unpublish_memory_x(&all).runtime(env.rt)();
    EXPECT(found(200, 300) && !found(0, size) && !found(450, 200));
    lci::unpublish_memory_x(&some).runtime(env.rt)();
    EXPECT(!found(200, 300));
    lci::deregister_memory_x(&inner).runtime(env.rt)();
    lci::deregister_memory_x(&outer).runtime(env.rt)();
    env.barrier();
  });
}

TEST_CASE("threads find published memory while more is published", "[rma]") {
  on_ranks([](rank_env& env) {
    constexpr size_t size = 4096;
    window w(env, size);
    auto mr = lci::register_memory_x(w.data(), size).runtime(env.rt)();
    auto stays = lci::publish_memory_x(mr).runtime(env.rt)();
    std::atomic<bool> over{false};
    std::atomic<int> missed{0};
    env.parallel(3, [&](int t) {
      if (t > 0) {
        while (!over.load())
          missed += lci::find_rmr_x(env.right(), at(w.of(env.right()), 64 * static_cast<size_t>(t)), 64)
                        .runtime(env.rt)()
                        .is_empty();
        return;
      }
      for (int i = 0; i < 20; ++i) {
        auto more = lci::publish_memory_x(mr).runtime(env.rt)();
        lci::unpublish_memory_x(&more).runtime(env.rt)();
      }
      over.store(true);
    });
    EXPECT_EQ(missed.load(), 0);
    lci::unpublish_memory_x(&stays).runtime(env.rt)();
    lci::deregister_memory_x(&mr).runtime(env.rt)();
    env.barrier();
  });
}

TEST_CASE("misuse of published memory is refused, at all ranks if one rank's argument is invalid", "[invalid]") {
  on_ranks([](rank_env& env) {
    char bytes[64] = {};
    auto mr = lci::register_memory_x(bytes, sizeof bytes).runtime(env.rt)();
    auto other = lci::alloc_device_x().runtime(env.rt)();
    auto there = lci::register_memory_x(bytes, sizeof bytes).device(other).runtime(env.rt)();
    auto published = lci::publish_memory_x(mr).runtime(env.rt)();
    EXPECT_INVALID(lci::deregister_memory_x(&mr).runtime(env.rt)(), "mr", "unpublish_memory");
    EXPECT_INVALID(lci::find_rmr_x(env.size, bytes, 1).runtime(env.rt)(), "rank", std::to_string(env.size));
    EXPECT_INVALID(lci::find_rmr_x(-1, bytes, 1).runtime(env.rt)(), "rank", "-1");
    EXPECT(!lci::find_rmr_x(env.rank, bytes, 64).runtime(env.rt)().is_empty());
    EXPECT(lci::find_rmr_x(env.rank, bytes, 64).device(other).runtime(env.rt)().is_empty());
    EXPECT_INVALID(lci::publish_memory_x(env.rank == 0 ? there : mr).runtime(env.rt)(), "publish_memory",
                   "another device");
    lci::publication_t none;
    EXPECT_INVALID(lci::unpublish_memory_x(&none).runtime(env.rt)(), "publication", "empty");
    EXPECT_INVALID(lci::unpublish_memory_x(nullptr).runtime(env.rt)(), "publication", "publish_memory");
    env.barrier();  // makes progress on all devices: a collective on one device would not send what is left on another
    auto on_other = lci::publish_memory_x(there).device(other).runtime(env.rt)();
    EXPECT_INVALID(lci::free_device_x(&other).runtime(env.rt)(), "device", "published");
    lci::unpublish_memory_x(&on_other).runtime(env.rt)();
    env.barrier();
    lci::unpublish_memory_x(&published).runtime(env.rt)();
    lci::deregister_memory_x(&there).runtime(env.rt)();
    lci::deregister_memory_x(&mr).runtime(env.rt)();
    lci::free_device_x(&other).runtime(env.rt)();

    auto symmetric = lci::alloc_symmetric_x(256).runtime(env.rt)();
    const auto part = lci::get_symmetric_mr_x(symmetric).runtime(env.rt)();
    published = lci::publish_memory_x(part).runtime(env.rt)();
    EXPECT_INVALID(lci::free_symmetric_x(&symmetric).runtime(env.rt)(), "symmetric", "unpublish_memory");
    EXPECT(!symmetric.is_empty());
    auto shared = part;
    EXPECT_INVALID(lci::free_shared_x(&shared).runtime(env.rt)(), "mr", "unpublish_memory");
    lci::unpublish_memory_x(&published).runtime(env.rt)();
    lci::free_symmetric_x(&symmetric).runtime(env.rt)();
    env.barrier();
  });
}
