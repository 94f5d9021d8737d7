// Memory that ranks of one host access by load and store.
#include <algorithm>
#include <atomic>
#include <cstdlib>

#include "tests/conformance/inbox.hpp"
#include "tests/conformance/window.hpp"

using namespace conf;

namespace {

char* base_of(rank_env& env, lci::mr_t mr) { return static_cast<char*>(lci::get_mr_base_x(mr).runtime(env.rt)()); }

/// Returns whether `peer` must be able to access this rank's shared memory directly.
bool same_host(const rank_env& env, int peer) {
  const char* per_host =
      std::getenv(ranks_in_one_process() ? "LCI_ATTR_SIM_RANKS_PER_HOST" : "LCI_ATTR_RANKS_PER_HOST");
  const int n = per_host == nullptr ? 0 : std::atoi(per_host);
  return n == 0 || peer / n == env.rank / n;
}

}  // namespace

TEST_CASE("all ranks of a host can read and write shared memory", "[shared]") {
  on_ranks([](rank_env& env) {
    constexpr size_t n = 1000;
    auto mr = lci::alloc_shared_x(n * sizeof(int)).runtime(env.rt)();
    auto* mine = reinterpret_cast<int*>(base_of(env, mr));
    for (size_t i = 0; i < n; ++i) mine[i] = -1;
    const auto rmrs = env.all_gather(lci::get_rmr_x(mr).runtime(env.rt)());
    for (int r = 0; r < env.size; ++r) {
      auto* theirs = static_cast<int*>(lci::get_shared_address_x(r, rmrs[static_cast<size_t>(r)]).runtime(env.rt)());
      EXPECT_EQ(theirs != nullptr, same_host(env, r));
      if (theirs != nullptr) theirs[env.rank] = 1000 + env.rank;
      if (r == env.rank) EXPECT(theirs == mine);
      // Where tools that watch memory take most of the addresses, the owner's may be used here.
      if (theirs != nullptr && !lci_test::sanitized)
        EXPECT_EQ(reinterpret_cast<uint64_t>(theirs), rmrs[static_cast<size_t>(r)].base);
    }
    env.barrier();
    for (int r = 0; r < env.size; ++r) EXPECT_EQ(mine[r], same_host(env, r) ? 1000 + r : -1);
    EXPECT_EQ(mine[n - 1], -1);
    env.barrier();
    lci::free_shared_x(&mr).runtime(env.rt)();
    EXPECT(mr.is_empty());
  });
}

TEST_CASE("puts to shared memory are complete when they return", "[shared]") {
  on_ranks([](rank_env& env) {
    auto mr = lci::alloc_shared_x(4096).runtime(env.rt)();
    char* mine = base_of(env, mr);
    std::memset(mine, 0, 4096);
    const auto rmrs = env.all_gather(lci::get_rmr_x(mr).runtime(env.rt)());
    const int to = env.right();
    const auto rmr = rmrs[static_cast<size_t>(to)];
    const auto* theirs = static_cast<const char*>(lci::get_shared_address_x(to, rmr).runtime(env.rt)());
    for (const size_t size : {size_t{0}, size_t{1}, size_t{4}, size_t{8}, size_t{13}, size_t{4000}}) {
      if (theirs == nullptr) break;
      const auto out = message(size, size + static_cast<uint64_t>(env.rank));
      std::vector<char> back(size, '\x11');
      int me = 0;
      lci::status_t s = env.post([&] {
        return lci::post_put_x(to, size == 0 ? nullptr : out.data(), size, lci::COMP_NULL_RETRY, 96, rmr)
            .user_context(&me)
            .runtime(env.rt)();
      });
      EXPECT(s.is_done());
      EXPECT_EQ(s.rank, to);
      EXPECT_EQ(s.size, size);
      EXPECT(s.user_context == &me);
      EXPECT(std::equal(out.begin(), out.end(), theirs + 96));
      s = env.post([&] {
        return lci::post_get_x(to, size == 0 ? nullptr : back.data(), size, lci::COMP_NULL_RETRY, 96, rmr)
            .runtime(env.rt)();
      });
      EXPECT(s.is_done());
      EXPECT(back == out);
    }
    if (theirs == nullptr) EXPECT(!same_host(env, to));
    env.barrier();
    lci::free_shared_x(&mr).runtime(env.rt)();
  });
}

TEST_CASE("words of shared memory can be put, got and added to through a device, within bounds", "[shared]") {
  on_ranks([](rank_env& env) {
    constexpr size_t n = 16;
    auto mr = lci::alloc_shared_x(n * sizeof(uint64_t)).runtime(env.rt)();
    auto* mine = reinterpret_cast<uint64_t*>(base_of(env, mr));
    for (size_t i = 0; i < n; ++i) mine[i] = i;
    const auto rmrs = env.all_gather(lci::get_rmr_x(mr).runtime(env.rt)());
    const int to = env.right();
    const auto rmr = rmrs[static_cast<size_t>(to)];
    int me = 0;
    // The first access looks the peer's memory up, later ones use a cached address.
    for (uint64_t round = 0; round < 3 && same_host(env, to); ++round) {
      const uint64_t out = 1000 + round, one = 1;
      uint64_t back = 0, before = 0;
      lci::status_t s = lci::post_put_x(to, &out, sizeof out, lci::COMP_NULL, 8 * (n - 1), rmr)
                            .tag(7)
                            .user_context(&me)
                            .device(env.device)();
      EXPECT(s.is_done());
      EXPECT_EQ(s.rank, to);
      EXPECT_EQ(s.size, sizeof out);
      EXPECT_EQ(s.tag, 7u);
      EXPECT(s.buffer == &out && s.user_context == &me);
      s = lci::post_atomic_x(to, lci::atomic_op_t::add, &one, &before, lci::COMP_NULL, 8 * (n - 1), rmr)
              .device(env.device)();
      EXPECT(s.is_done());
      EXPECT(s.buffer == &before);
      EXPECT_EQ(before, out);
      s = lci::post_get_x(to, &back, sizeof back, lci::COMP_NULL, 8 * (n - 1), rmr).device(env.device)();
      EXPECT(s.is_done());
      EXPECT_EQ(back, out + 1);
      for (const uintptr_t beyond : {8 * n - 7, 8 * n, ~uintptr_t{0} - 7})
        EXPECT_INVALID(lci::post_put_x(to, &out, sizeof out, lci::COMP_NULL, beyond, rmr).device(env.device)(),
                       "remote_disp", std::to_string(beyond));
      EXPECT_INVALID(lci::post_get_x(env.size, &back, sizeof back, lci::COMP_NULL, 0, rmr).device(env.device)(), "rank",
                     std::to_string(env.size));
      // A put with a completion object takes another code path.
      const uint64_t other = 5;
      auto counter = lci::alloc_counter_x().runtime(env.rt)();
      s = lci::post_put_x(to, &other, sizeof other, counter, 0, rmr).allow_done(false).device(env.device)();
      EXPECT(s.is_posted());
      EXPECT_EQ(lci::counter_get(counter), 1);
      lci::free_comp_x(&counter).runtime(env.rt)();
    }
    env.barrier();
    if (same_host(env, env.left())) EXPECT_EQ(mine[0], 5u);
    EXPECT_EQ(mine[1], 1u);
    env.barrier();
    lci::free_shared_x(&mr).runtime(env.rt)();
  });
}

TEST_CASE("a put to shared memory with allow_done false signals its completion object", "[shared]") {
  on_ranks([](rank_env& env) {
    auto mr = lci::alloc_shared_x(64).runtime(env.rt)();
    const auto rmrs = env.all_gather(lci::get_rmr_x(mr).runtime(env.rt)());
    auto sync = lci::alloc_sync_x().runtime(env.rt)();
    const uint64_t value = 42;
    const auto s = env.post([&] {
      return lci::post_put_x(env.right(), &value, sizeof value, sync, 0, rmrs[static_cast<size_t>(env.right())])
          .allow_done(false)
          .runtime(env.rt)();
    });
    EXPECT(s.is_posted());
    EXPECT_EQ(finished(env, sync, s).size, sizeof value);
    env.barrier();
    uint64_t got = 0;
    std::memcpy(&got, base_of(env, mr), sizeof got);
    EXPECT_EQ(got, value);
    lci::free_comp_x(&sync).runtime(env.rt)();
    env.barrier();
    lci::free_shared_x(&mr).runtime(env.rt)();
  });
}

TEST_CASE("blocks of shared memory are aligned, do not overlap, and are reused", "[shared]") {
  on_ranks(
      [](rank_env& env) {
        std::vector<lci::mr_t> blocks;
        std::vector<std::pair<char*, size_t>> places;
        const size_t sizes[] = {0, 1, 63, 64, 65, 5000, 1 << 16, 1 << 20};
        for (int round = 0; round < 3; ++round) {
          for (const size_t size : sizes)
            for (const size_t alignment : {size_t{1}, size_t{64}, size_t{4096}, size_t{1} << 21}) {
              blocks.push_back(lci::alloc_shared_x(size).alignment(alignment).runtime(env.rt)());
              char* at = base_of(env, blocks.back());
              EXPECT(reinterpret_cast<uintptr_t>(at) % std::max<size_t>(alignment, size < 1 << 16 ? 64 : 4096) == 0);
              for (const auto& [other, n] : places) EXPECT(at + size <= other || other + n <= at);
              places.emplace_back(at, size);
              std::memset(at, round, size);
            }
          // Every second block is freed first, so that free blocks lie between used ones.
          for (size_t i = 0; i < blocks.size(); i += 2) lci::free_shared_x(&blocks[i]).runtime(env.rt)();
          for (size_t i = 1; i < blocks.size(); i += 2) lci::free_shared_x(&blocks[i]).runtime(env.rt)();
          blocks.clear();
          places.clear();
        }
        auto whole = lci::alloc_shared_x(900 << 20).runtime(env.rt)();  // possible only if all blocks were returned
        lci::free_shared_x(&whole).runtime(env.rt)();
      },
      [](lci::global_attr_t& attr) { attr.shared_heap_size = size_t{1} << 30; });
}

TEST_CASE("the library gives the reason if it refuses shared memory", "[shared]") {
  on_ranks(
      [](rank_env& env) {
        const auto rt = env.rt;
        EXPECT_INVALID(lci::alloc_shared_x(8).alignment(48).runtime(rt)(), "alignment", "48");
        bool refused = false;
        try {
          (void)lci::alloc_shared_x(1 << 20).runtime(rt)();
        } catch (const lci::resource_error& e) {
          refused = std::string(e.what()).find("LCI_ATTR_SHARED_HEAP_SIZE") != std::string::npos;
        }
        EXPECT(refused);
        char user[8];
        auto registered = lci::register_memory_x(user, sizeof user).runtime(rt)();
        auto shared = lci::alloc_shared_x(8).runtime(rt)();
        EXPECT_INVALID(lci::free_shared_x(&registered).runtime(rt)(), "mr", "alloc_shared");
        EXPECT_INVALID(lci::deregister_memory_x(&shared).runtime(rt)(), "mr", "free_shared");
        EXPECT_INVALID(lci::get_mr_base_x(lci::MR_HOST).runtime(rt)(), "mr", "no registration");
        auto rmr = lci::get_rmr_x(registered).runtime(rt)();
        EXPECT(lci::get_shared_address_x(env.rank, rmr).runtime(rt)() == nullptr);
        EXPECT_INVALID(lci::get_shared_address_x(env.size, rmr).runtime(rt)(), "rank", std::to_string(env.size));
        rmr = lci::get_rmr_x(shared).runtime(rt)();
        const uint64_t value = 1;
        EXPECT_INVALID(lci::post_put_x(env.rank, &value, 8, lci::COMP_NULL, 1, rmr).runtime(rt)(), "remote_disp", "1");
        EXPECT_INVALID(lci::post_put_x(env.rank, nullptr, 8, lci::COMP_NULL, 0, rmr).runtime(rt)(), "local_buffer",
                       "nullptr");
        EXPECT_INVALID(lci::post_get_x(-1, user, 8, lci::COMP_NULL, 0, rmr).runtime(rt)(), "rank", "-1");
        // A forged key gives no access outside of the heap.
        rmr.base += 1 << 30;
        EXPECT(lci::get_shared_address_x(env.rank, rmr).runtime(rt)() == nullptr);
        lci::free_shared_x(&shared).runtime(rt)();
        lci::deregister_memory_x(&registered).runtime(rt)();
      },
      [](lci::global_attr_t& attr) { attr.shared_heap_size = 1 << 16; });
}

TEST_CASE("symmetric memory can be accessed at every rank by the same offset", "[shared]") {
  on_ranks([](rank_env& env) {
    const auto rt = env.rt;
    // The parts of ranks may have different sizes, also 0.
    auto memory = lci::alloc_symmetric_x(static_cast<size_t>(env.rank) * 8).equal_parts(false).runtime(rt)();
    auto sync = lci::alloc_sync_x().runtime(rt)();
    const auto mr = lci::get_symmetric_mr_x(memory).runtime(rt)();
    EXPECT(lci::get_symmetric_address_x(memory, env.rank).runtime(rt)() == base_of(env, mr));
    const auto value = 7000 + static_cast<uint64_t>(env.rank);
    for (int r = 0; r < env.size; ++r) {
      const auto rmr = lci::get_symmetric_rmr_x(memory, r).runtime(rt)();
      EXPECT_EQ(rmr.size(), static_cast<uint64_t>(r) * 8);
      EXPECT_EQ(lci::get_symmetric_address_x(memory, r).runtime(rt)() != nullptr, same_host(env, r));
      if (r <= env.rank) continue;
      finished(env, sync, env.post([&] {
        return lci::post_put_x(r, &value, 8, sync, static_cast<uintptr_t>(env.rank) * 8, rmr).runtime(rt)();
      }));
    }
    env.barrier();
    for (int r = 0; r < env.rank; ++r) {
      uint64_t got = 0;
      std::memcpy(&got, base_of(env, mr) + 8 * r, 8);
      EXPECT_EQ(got, 7000 + static_cast<uint64_t>(r));
    }
    EXPECT_INVALID(lci::get_symmetric_rmr_x(memory, env.size).runtime(rt)(), "rank", std::to_string(env.size));
    EXPECT_INVALID(lci::get_symmetric_address_x(memory, -1).runtime(rt)(), "rank", "-1");
    lci::free_comp_x(&sync).runtime(rt)();
    lci::free_symmetric_x(&memory).runtime(rt)();
    EXPECT(memory.is_empty());
  });
}

TEST_CASE("symmetric memory that one rank can't allocate is refused at all ranks", "[shared]") {
  on_ranks(
      [](rank_env& env) {
        const size_t size = env.rank == env.size - 1 ? 1 << 20 : 64;
        bool refused = false;
        try {
          (void)lci::alloc_symmetric_x(size).runtime(env.rt)();
        } catch (const lci::resource_error& e) {
          const std::string text = e.what();
          refused = text.find(env.rank == env.size - 1 ? "LCI_ATTR_SHARED_HEAP_SIZE"
                                                       : "rank " + std::to_string(env.size - 1)) != std::string::npos;
        }
        EXPECT(refused);
        auto memory = lci::alloc_symmetric_x(64).runtime(env.rt)();  // all memory was returned
        lci::free_symmetric_x(&memory).runtime(env.rt)();
      },
      [](lci::global_attr_t& attr) { attr.shared_heap_size = 1 << 16; });
}
