// Attributes: defaults read and set before a runtime, given at allocation, from the environment.
#include <cstdlib>

#include "tests/conformance/inbox.hpp"
#include "tests/conformance/pattern.hpp"

using namespace conf;

TEST_CASE("a default set before a runtime is what its resources have", "[attributes]") {
  on_ranks(
      [](rank_env& env) {
        const auto rt = env.rt;
        EXPECT_EQ(lci::get_default_packet_pool_x().runtime(rt)().get_attr_npackets(), size_t{2048});
        EXPECT_EQ(lci::get_default_packet_pool_x().runtime(rt)().get_attr_packet_size(),
                  size_t{4096});
        EXPECT(lci::get_max_bcopy_size_x().runtime(rt)() < 4096);
        EXPECT_EQ(rt.get_attr_packet_return_threshold(), size_t{1000});
        // What is given at allocation goes first.
        auto pool = lci::alloc_packet_pool_x().npackets(128).runtime(rt)();
        EXPECT_EQ(pool.get_attr_npackets(), size_t{128});
        EXPECT_EQ(pool.get_attr_packet_size(), size_t{4096});
        lci::free_packet_pool_x(&pool).runtime(rt)();
        inbox box(env, inbox_kind::queue_lcrq, 1);
        const auto rcomp = env.all_gather(box.rcomp())[static_cast<size_t>(env.right())];
        for (const size_t size : {size_t{8}, size_t{4000}, size_t{5000}}) {
          const auto out = message(size, size);
          env.post([&] {
            return lci::post_am_x(env.right(), out.data(), size, lci::COMP_NULL, rcomp)
                .runtime(rt)();
          });
          EXPECT(box.collect().front().data == std::string(out.data(), size));
          env.barrier();
        }
      },
      [](lci::global_attr_t& attr) {
        attr.npackets = 2048;
        attr.packet_size = 4096;
        attr.packet_return_threshold = 1000;
      });
}

TEST_CASE("a lowered rendezvous threshold still delivers every size", "[attributes]") {
  on_ranks(
      [](rank_env& env) {
        inbox box(env, inbox_kind::in_place_handler, 1);
        const auto rcomp = env.all_gather(box.rcomp())[static_cast<size_t>(env.right())];
        for (const size_t size : {size_t{0}, size_t{8}, size_t{255}, size_t{256}, size_t{257},
                                  size_t{4000}}) {
          const auto out = message(size, size);
          env.post([&] {
            return lci::post_am_x(env.right(), out.data(), size, lci::COMP_NULL, rcomp)
                .runtime(env.rt)();
          });
          EXPECT(box.collect().front().data == std::string(out.data(), size));
          env.barrier();
        }
      },
      [](lci::global_attr_t& attr) { attr.rdv_threshold = 256; });
}

TEST_CASE("names and contexts given to resources do not change what they do", "[attributes]") {
  on_ranks([](rank_env& env) {
    int cookie = 0;
    auto cq = lci::alloc_cq_x().name("mine").user_context(&cookie).runtime(env.rt)();
    EXPECT(cq.get_attr_comp_type() == lci::attr_comp_type_t::cq);
    lci::comp_signal_x(cq, lci::status_t(lci::errorcode_t::done)).runtime(env.rt)();
    EXPECT(lci::cq_pop_x(cq).runtime(env.rt)().is_done());
    lci::free_comp_x(&cq).runtime(env.rt)();
    auto device = lci::alloc_device_x().name("mine").user_context(&cookie).runtime(env.rt)();
    env.barrier();
    EXPECT(device.get_attr_uid() >= 0);
    EXPECT(device.get_attr_uid() != env.device.get_attr_uid());
    lci::free_device_x(&device).runtime(env.rt)();
  });
}

TEST_CASE("handles compare, are empty at first and when freed, and can be hashed",
          "[attributes]") {
  on_ranks([](rank_env& env) {
    lci::device_t none;
    EXPECT(none.is_empty());
    EXPECT(none != env.device);
    const lci::device_t same = env.device;
    EXPECT(same == env.device);
    EXPECT(std::hash<lci::device_t>()(same) == std::hash<lci::device_t>()(env.device));
    EXPECT(lci::get_default_device_x().runtime(env.rt)() == env.device);
    auto cq = lci::alloc_cq_x().runtime(env.rt)();
    lci::free_comp_x(&cq).runtime(env.rt)();
    EXPECT(cq.is_empty());
  });
}

namespace {

struct counting_allocator : lci::allocator_base_t {
  void* allocate(size_t size) override {
    allocated.fetch_add(1);
    return std::malloc(size);
  }
  void deallocate(void* p) override {
    deallocated.fetch_add(1);
    std::free(p);
  }
  std::atomic<int> allocated{0}, deallocated{0};
};

}  // namespace

TEST_CASE("a user's allocator makes the buffers of active messages", "[allocator]") {
  on_ranks([](rank_env& env) {
    counting_allocator mine;
    auto* before = lci::get_allocator_x().runtime(env.rt)();
    EXPECT(before != nullptr);
    lci::set_allocator_x(&mine).runtime(env.rt)();
    EXPECT(lci::get_allocator_x().runtime(env.rt)() == &mine);
    env.barrier();
    auto cq = lci::alloc_cq_x().runtime(env.rt)();
    const auto rcomp = env.all_gather(
        lci::register_rcomp_x(cq).runtime(env.rt)())[static_cast<size_t>(env.right())];
    int received = 0;
    for (const size_t size : {size_t{8}, size_t{3000}, size_t{100'000}}) {
      const auto out = message(size, size);
      env.post([&] {
        return lci::post_am_x(env.right(), out.data(), size, lci::COMP_NULL, rcomp)
            .runtime(env.rt)();
      });
      lci::status_t s;
      env.until("a message",
                [&] { return (s = lci::cq_pop_x(cq).runtime(env.rt)()).is_done(); });
      EXPECT_EQ(mine.allocated.load(), ++received);
      EXPECT(matches(s.buffer, s.size, size));
      mine.deallocate(s.buffer);
      env.barrier();
    }
    {  // delivered in place, what had to be allocated is given back by the library
      inbox box(env, inbox_kind::in_place_handler, 1);
      const auto in_place = env.all_gather(box.rcomp())[static_cast<size_t>(env.right())];
      const auto out = message(100'000, 1);
      env.post([&] {
        return lci::post_am_x(env.right(), out.data(), out.size(), lci::COMP_NULL, in_place)
            .runtime(env.rt)();
      });
      box.collect();
      env.barrier();
    }
    EXPECT_EQ(mine.allocated.load(), mine.deallocated.load());
    lci::set_allocator_x(before).runtime(env.rt)();
    lci::free_comp_x(&cq).runtime(env.rt)();
  });
}
