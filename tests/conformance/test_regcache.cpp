// The registration cache shares registrations and keeps unused ones, within limits. Memory that was mapped anew is
// never accessed through a registration of the earlier mapping. On a network where registering costs nothing there
// is no cache, and the tests must pass, too.
#include <sys/mman.h>

#include <memory>
#include <new>

#include "tests/conformance/window.hpp"

using namespace conf;

namespace {

constexpr size_t size = 150'000;  // sent by rendezvous

/// Memory from mmap(), at the given address if that is free.
class mapping {
 public:
  explicit mapping(size_t bytes, void* at = nullptr) : bytes_(bytes) {
    void* p = mmap(at, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) throw std::bad_alloc();
    data_ = static_cast<char*>(p);
  }
  ~mapping() { munmap(data_, bytes_); }
  mapping(const mapping&) = delete;
  mapping& operator=(const mapping&) = delete;
  char* data() { return data_; }

 private:
  size_t bytes_;
  char* data_;
};

/// Enables the cache, and the network's check for stale registrations if it has one.
void cached(lci::global_attr_t& attr) {
  attr.use_reg_cache = true;
  attr.reg_cache_trust = false;
  attr.sim_check_mappings = true;
  attr.npackets = 1000;  // few, since registering locks their memory
}

lci::reg_cache_stats_t stats(rank_env& env) {
  return lci::get_reg_cache_stats_x().device(env.device).runtime(env.rt)();
}

// Memory that another rank of the process unmaps while this one registers may have had the same address, which then
// costs a registration. So ranks that check statistics wait in a barrier after they have mapped memory, and before
// they unmap it.

/// Registers memory and deregisters it at once.
void use(rank_env& env, char* at, size_t bytes) {
  auto mr = lci::register_memory_x(at, bytes).runtime(env.rt)();
  lci::deregister_memory_x(&mr).runtime(env.rt)();
}

}  // namespace

TEST_CASE("puts, gets and sends access the new mapping at an address that was mapped anew", "[regcache]") {
  on_ranks(
      [](rank_env& env) {
        const auto rt = env.rt;
        auto sync = lci::alloc_sync_x().runtime(rt)();
        auto received = lci::alloc_sync_x().runtime(rt)();
        char* last = nullptr;
        int same = 0;
        const int rounds = 40;
        for (int i = 0; i < rounds; ++i) {
          const auto seed = static_cast<uint64_t>(100 * i);
          const auto mine = seed + static_cast<uint64_t>(env.rank);
          const auto lefts = seed + static_cast<uint64_t>(env.left());
          // Two windows of one mapping: peers put to the first and get from the second.
          mapping memory(3 * size, last);
          same += memory.data() == last ? 1 : 0;
          last = memory.data();
          char *put_here = last, *get_here = last + size, *local = last + 2 * size;
          fill(get_here, size, mine);
          auto mr = lci::register_memory_x(last, 2 * size).runtime(rt)();
          const auto rmrs = env.all_gather(lci::get_rmr_x(mr).runtime(rt)());
          const lci::rmr_t right = rmrs[static_cast<size_t>(env.right())];

          fill(local, size, mine);
          finished(env, sync,
                   env.post([&] { return lci::post_put_x(env.right(), local, size, sync, 0, right).runtime(rt)(); }));
          env.barrier();
          EXPECT(matches(put_here, size, lefts));
          finished(env, sync, env.post([&] {
            return lci::post_get_x(env.right(), local, size, sync, size, right).runtime(rt)();
          }));
          EXPECT(matches(local, size, seed + static_cast<uint64_t>(env.right())));
          env.barrier();  // no rank accesses it any more
          lci::deregister_memory_x(&mr).runtime(rt)();
          EXPECT(mr.is_empty());

          // The library registers the buffers of a large message itself.
          fill(local, size, mine);
          auto r = env.post([&] { return lci::post_recv_x(env.left(), put_here, size, 1, received).runtime(rt)(); });
          finished(env, sync,
                   env.post([&] { return lci::post_send_x(env.right(), local, size, 1, sync).runtime(rt)(); }));
          finished(env, received, r);
          EXPECT(matches(put_here, size, lefts));
          env.barrier();
        }
        const auto s = stats(env);
        if (s.watched) EXPECT(s.invalidations > 0);
        if (!ranks_in_one_process()) EXPECT(same > rounds / 2);  // ranks in one process take each other's addresses
        if (!s.watched) EXPECT_EQ(s.kept, uint64_t{0});
        EXPECT_EQ(s.used, uint64_t{0});
        lci::free_comp_x(&received).runtime(rt)();
        lci::free_comp_x(&sync).runtime(rt)();
      },
      cached);
}

TEST_CASE("threads that map, send and unmap never send the content of an earlier mapping", "[regcache][threads]") {
  const int threads = GENERATE(2, 4);
  const bool shared = GENERATE(true, false);
  INFO(threads << " threads, shared device " << shared);
  on_ranks(
      [=](rank_env& env) {
        const auto devices = env.devices(threads, shared);
        env.parallel(threads, [&](int t) {
          const auto device = devices[static_cast<size_t>(t)];
          auto sync = lci::alloc_sync_x().threshold(2).runtime(env.rt)();
          char* last = nullptr;
          for (int i = 0; i < 30; ++i) {
            const auto tag = static_cast<lci::tag_t>(t * 1000 + i);
            const size_t bytes = size + static_cast<size_t>(i % 3) * 10'000;
            mapping out(bytes, last), in(bytes);
            last = out.data();
            exchange_around(env, device, sync, out.data(), in.data(), bytes, tag);
          }
          lci::free_comp_x(&sync).runtime(env.rt)();
        });
        env.barrier();
      },
      cached);
}

TEST_CASE("ranges that share a registration have remote keys of their own", "[regcache]") {
  on_ranks(
      [](rank_env& env) {
        const auto rt = env.rt;
        mapping memory(size);
        env.barrier();
        fill(memory.data(), size, 1);
        auto all = lci::register_memory_x(memory.data(), size).runtime(rt)();
        auto part = lci::register_memory_x(memory.data() + 1000, 8).runtime(rt)();
        const auto key = lci::get_rmr_x(part).runtime(rt)();
        EXPECT_EQ(key.base, reinterpret_cast<uint64_t>(memory.data() + 1000));
        EXPECT_EQ(key.size(), uint64_t{8});
        const auto s = stats(env);
        if (s.active) {
          EXPECT_EQ(s.hits, uint64_t{1});
          EXPECT_EQ(s.used, uint64_t{1});
          EXPECT_EQ(s.used_bytes, uint64_t{size});
        } else {
          EXPECT_EQ(s.hits + s.misses + s.used + s.kept, uint64_t{0});
        }
        // The part remains valid after the whole was deregistered, for messages (atomics) and for the network.
        lci::deregister_memory_x(&all).runtime(rt)();
        const auto rmr = env.all_gather(key)[static_cast<size_t>(env.right())];
        auto sync = lci::alloc_sync_x().runtime(rt)();
        char got[8];
        EXPECT_INVALID(lci::post_get_x(env.right(), got, 8, sync, 1, rmr).runtime(rt)(), "remote_disp", "8");
        finished(env, sync, env.post([&] { return lci::post_get_x(env.right(), got, 8, sync, 0, rmr).runtime(rt)(); }));
        EXPECT(matches(got, 8, 1, 1000));
        env.barrier();
        const uint64_t one = 1;
        uint64_t before = 0;
        finished(env, sync, env.post([&] {
          return lci::post_atomic_x(env.right(), lci::atomic_op_t::add, &one, &before, sync, 0, rmr).runtime(rt)();
        }));
        EXPECT_EQ(std::memcmp(&before, got, 8), 0);
        env.barrier();
        lci::deregister_memory_x(&part).runtime(rt)();
        lci::free_comp_x(&sync).runtime(rt)();
      },
      cached);
}

TEST_CASE("buffers that are sent repeatedly are registered once", "[regcache]") {
  on_ranks(
      [](rank_env& env) {
        const auto rt = env.rt;
        mapping memory(2 * size);
        char *out = memory.data(), *in = out + size;
        auto sync = lci::alloc_sync_x().runtime(rt)();
        auto received = lci::alloc_sync_x().runtime(rt)();
        uint64_t misses = 0;
        env.barrier();
        for (int i = 0; i < 10; ++i) {
          fill(out, size, static_cast<uint64_t>(i));
          auto r = env.post([&] { return lci::post_recv_x(env.left(), in, size, 1, received).runtime(rt)(); });
          finished(env, sync,
                   env.post([&] { return lci::post_send_x(env.right(), out, size, 1, sync).runtime(rt)(); }));
          finished(env, received, r);
          EXPECT(matches(in, size, static_cast<uint64_t>(i)));
          if (i == 0) misses = stats(env).misses;
        }
        const auto s = stats(env);
        EXPECT(!s.active || misses > 0);
        if (s.watched) {
          EXPECT_EQ(s.misses, misses);
          EXPECT(s.hits >= 9);
        }
        env.barrier();
        lci::free_comp_x(&received).runtime(rt)();
        lci::free_comp_x(&sync).runtime(rt)();
      },
      [](lci::global_attr_t& attr) {
        cached(attr);
        attr.sim_rma = true;  // with rendezvous by remote access, which needs registrations
        if (attr.rdv_protocol == lci::attr_rdv_protocol_t::copy)
          attr.rdv_protocol = lci::attr_rdv_protocol_t::auto_select;
      });
}

TEST_CASE("unused registrations are kept within the attributes' limits", "[regcache][attributes]") {
  on_ranks(
      [](rank_env& env) {
        EXPECT_EQ(env.device.get_attr_use_reg_cache(), true);
        EXPECT_EQ(env.device.get_attr_reg_cache_bytes(), size_t{10'000});
        EXPECT_EQ(env.device.get_attr_reg_cache_count(), size_t{3});
        EXPECT_EQ(env.device.get_attr_reg_cache_trust(), false);
        mapping memory(size);
        env.barrier();
        for (size_t i = 0; i < 5; ++i) use(env, memory.data() + 1000 * i, 500);
        auto s = stats(env);
        EXPECT_EQ(s.misses, uint64_t{s.active ? 5u : 0u});
        EXPECT_EQ(s.kept, uint64_t{s.watched ? 3u : 0u});
        EXPECT_EQ(s.evictions, uint64_t{s.watched ? 2u : 0u});
        if (!s.watched) return;  // the same at all ranks
        use(env, memory.data() + 50'000, 9000);
        s = stats(env);
        EXPECT_EQ(s.kept, uint64_t{3});
        EXPECT_EQ(s.kept_bytes, uint64_t{10'000});
        use(env, memory.data() + 60'000, 600);
        EXPECT(stats(env).kept_bytes <= 10'000);
        use(env, memory.data() + 60'000, 600);
        EXPECT_EQ(stats(env).hits, uint64_t{1});
        env.barrier();
      },
      [](lci::global_attr_t& attr) {
        cached(attr);
        attr.reg_cache_bytes = 10'000;
        attr.reg_cache_count = 3;
      });
}

TEST_CASE("is_mr_current says no once other memory is at the addresses of a registration", "[regcache]") {
  on_ranks(
      [](rank_env& env) {
        const auto rt = env.rt;
        auto first = std::make_unique<mapping>(size);
        char* const at = first->data();
        auto mr = lci::register_memory_x(at, size).runtime(rt)();
        const auto s = stats(env);
        EXPECT_EQ(lci::is_mr_current_x(mr).runtime(rt)(), !s.active || s.watched);
        env.barrier();
        first.reset();
        const mapping second(size, at);
        // Where registering covers addresses, whatever is mapped there is registered.
        EXPECT_EQ(lci::is_mr_current_x(mr).runtime(rt)(), !s.active);
        lci::deregister_memory_x(&mr).runtime(rt)();
        EXPECT_INVALID(lci::is_mr_current_x(mr).runtime(rt)(), "mr", "register_memory()");
        env.barrier();
      },
      cached);
}

TEST_CASE("with reg_cache_trust mappings are not watched", "[regcache][attributes]") {
  on_ranks(
      [](rank_env& env) {
        std::vector<char> memory(1000);
        use(env, memory.data(), 1000);
        use(env, memory.data() + 10, 10);
        const auto s = stats(env);
        EXPECT(!s.watched);
        EXPECT_EQ(s.hits, uint64_t{s.active ? 1u : 0u});
        EXPECT_EQ(s.kept, uint64_t{s.active ? 1u : 0u});
      },
      [](lci::global_attr_t& attr) {
        cached(attr);
        attr.reg_cache_trust = true;
      });
}

TEST_CASE("unused registrations are evicted when the network's limit is reached, also for packet pools", "[regcache]") {
  // The network must not run out of registrations because of the cache.
  on_ranks(
      [](rank_env& env) {
        mapping memory(size);
        env.barrier();
        const size_t many = 30;
        for (size_t i = 0; i < many; ++i) use(env, memory.data() + 100 * i, 100);
        auto pool = lci::alloc_packet_pool_x().npackets(64).runtime(env.rt)();
        lci::register_packet_pool_x(pool, env.device).runtime(env.rt)();
        auto shared = lci::alloc_shared_x(64).runtime(env.rt)();
        lci::free_shared_x(&shared).runtime(env.rt)();
        lci::deregister_packet_pool_x(pool, env.device).runtime(env.rt)();
        lci::free_packet_pool_x(&pool).runtime(env.rt)();
        const auto s = stats(env);
        if (s.watched) EXPECT(s.evictions >= many - 12);
        std::vector<lci::mr_t> held;
        bool refused = false;
        try {
          for (size_t i = 0; i < many; ++i)
            held.push_back(lci::register_memory_x(memory.data() + 100 * i, 100).runtime(env.rt)());
        } catch (const lci::resource_error& e) {
          refused = std::string(e.what()).find("SIM_MAX_REGISTRATIONS") != std::string::npos;
        }
        EXPECT_EQ(refused, s.active);
        EXPECT_EQ(stats(env).kept, uint64_t{0});
        for (auto& mr : held) lci::deregister_memory_x(&mr).runtime(env.rt)();
        EXPECT_EQ(stats(env).used, uint64_t{0});
        env.barrier();
      },
      [](lci::global_attr_t& attr) {
        cached(attr);
        attr.sim_max_registrations = 12;
      });
}

TEST_CASE("a device without a cache has no cache statistics", "[regcache][invalid]") {
  on_ranks(
      [](rank_env& env) {
        EXPECT_EQ(env.device.get_attr_use_reg_cache(), false);
        EXPECT_INVALID(stats(env), "get_reg_cache_stats", "LCI_ATTR_USE_REG_CACHE");
        auto other = lci::alloc_device_x().use_reg_cache(true).runtime(env.rt)();
        env.barrier();
        const auto s = lci::get_reg_cache_stats_x().device(other).runtime(env.rt)();
        EXPECT_EQ(s.hits + s.misses + s.evictions + s.invalidations, uint64_t{0});
        auto mr = lci::register_memory_x(env.device.p_impl, 1).device(other).runtime(env.rt)();
        auto again = mr;
        lci::deregister_memory_x(&mr).runtime(env.rt)();
        EXPECT_INVALID(lci::deregister_memory_x(&mr).runtime(env.rt)(), "mr", "register_memory()");
        EXPECT(again != mr);
        env.barrier();
        lci::free_device_x(&other).runtime(env.rt)();
      },
      [](lci::global_attr_t& attr) { attr.use_reg_cache = false; });
}
