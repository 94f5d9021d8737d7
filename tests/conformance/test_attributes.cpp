// Attributes: defaults read and set before a runtime exists, values given at allocation, the environment.
#include <cstdlib>
#include <set>

#include "tests/conformance/inbox.hpp"
#include "tests/conformance/pattern.hpp"

using namespace conf;

TEST_CASE("a default that is set before a runtime exists applies to its resources", "[attributes]") {
  on_ranks(
      [](rank_env& env) {
        const auto rt = env.rt;
        EXPECT_EQ(lci::get_default_packet_pool_x().runtime(rt)().get_attr_npackets(), size_t{2048});
        EXPECT_EQ(lci::get_default_packet_pool_x().runtime(rt)().get_attr_packet_size(), size_t{4096});
        EXPECT(lci::get_max_bcopy_size_x().runtime(rt)() < 4096);
        EXPECT_EQ(rt.get_attr_packet_return_threshold(), size_t{1000});
        // A value given at allocation takes precedence.
        auto pool = lci::alloc_packet_pool_x().npackets(128).runtime(rt)();
        EXPECT_EQ(pool.get_attr_npackets(), size_t{128});
        EXPECT_EQ(pool.get_attr_packet_size(), size_t{4096});
        lci::free_packet_pool_x(&pool).runtime(rt)();
        inbox box(env, inbox_kind::queue_lcrq, 1);
        const auto rcomp = env.all_gather(box.rcomp())[static_cast<size_t>(env.right())];
        for (const size_t size : {size_t{8}, size_t{4000}, size_t{5000}}) {
          const auto out = message(size, size);
          env.post([&] { return lci::post_am_x(env.right(), out.data(), size, lci::COMP_NULL, rcomp).runtime(rt)(); });
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
        for (const size_t size : {size_t{0}, size_t{8}, size_t{255}, size_t{256}, size_t{257}, size_t{4000}}) {
          const auto out = message(size, size);
          env.post(
              [&] { return lci::post_am_x(env.right(), out.data(), size, lci::COMP_NULL, rcomp).runtime(env.rt)(); });
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

TEST_CASE("each endpoint of a process has a number of its own, which it keeps", "[attributes]") {
  on_ranks([](rank_env& env) {
    auto device = lci::alloc_device_x().alloc_progress_endpoint(true).runtime(env.rt)();
    auto first = lci::alloc_endpoint_x().device(device).runtime(env.rt)();
    const auto of_device = lci::get_default_endpoint_x().device(device).runtime(env.rt)();
    const auto of_default = lci::get_default_endpoint_x().runtime(env.rt)();
    const int uid = first.get_attr_uid();
    EXPECT(uid >= 0);
    auto second = lci::alloc_endpoint_x().device(device).runtime(env.rt)();
    const std::set<int> all = {uid, second.get_attr_uid(), of_device.get_attr_uid(), of_default.get_attr_uid()};
    EXPECT_EQ(all.size(), size_t{4});
    EXPECT_EQ(first.get_attr_uid(), uid);
    lci::free_endpoint_x(&first).runtime(env.rt)();
    lci::free_endpoint_x(&second).runtime(env.rt)();
    env.barrier();
    lci::free_device_x(&device).runtime(env.rt)();
  });
}

TEST_CASE("the bits of immediate data say how large the tags and handles of the published interface are",
          "[attributes]") {
  on_ranks(
      [](rank_env& env) {
        EXPECT_EQ(env.rt.get_attr_max_imm_tag(), uint64_t{(1 << 20) - 1});
        EXPECT_EQ(env.rt.get_attr_max_imm_rcomp(), uint64_t{(1 << 11) - 1});
        EXPECT(env.rt.get_attr_max_tag() >= 0xffffffff);
        EXPECT_INVALID((lci::alloc_runtime_x().imm_nbits_tag(20).imm_nbits_rcomp(12)(), 0), "imm_nbits_tag",
                       "imm_nbits_rcomp");
        // A handle has other bits each time its place is used again, and is still not above the limit.
        auto cq = lci::alloc_cq_x().runtime(env.rt)();
        for (int i = 0; i < 3; ++i) {
          const auto rcomp = lci::register_rcomp_x(cq).runtime(env.rt)();
          EXPECT(rcomp <= env.rt.get_attr_max_rcomp());
          lci::deregister_rcomp_x(rcomp).runtime(env.rt)();
        }
        lci::free_comp_x(&cq).runtime(env.rt)();
      },
      [](lci::global_attr_t& attr) {
        attr.imm_nbits_tag = 20;
        attr.imm_nbits_rcomp = 11;
      });
}

TEST_CASE("handles compare, are empty at first and when freed, and can be hashed", "[attributes]") {
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

TEST_CASE("a user's allocator allocates the buffers of active messages", "[allocator]") {
  on_ranks([](rank_env& env) {
    counting_allocator mine;
    auto* before = lci::get_allocator_x().runtime(env.rt)();
    EXPECT(before != nullptr);
    lci::set_allocator_x(&mine).runtime(env.rt)();
    EXPECT(lci::get_allocator_x().runtime(env.rt)() == &mine);
    env.barrier();
    auto cq = lci::alloc_cq_x().runtime(env.rt)();
    const auto rcomp = env.all_gather(lci::register_rcomp_x(cq).runtime(env.rt)())[static_cast<size_t>(env.right())];
    int received = 0;
    for (const size_t size : {size_t{8}, size_t{3000}, size_t{150'000}}) {
      const auto out = message(size, size);
      env.post([&] { return lci::post_am_x(env.right(), out.data(), size, lci::COMP_NULL, rcomp).runtime(env.rt)(); });
      lci::status_t s;
      env.until("a message", [&] { return (s = lci::cq_pop_x(cq).runtime(env.rt)()).is_done(); });
      EXPECT_EQ(mine.allocated.load(), ++received);
      EXPECT(matches(s.buffer, s.size, size));
      mine.deallocate(s.buffer);
      env.barrier();
    }
    {  // delivered in place: the library frees the buffers that it had to allocate
      inbox box(env, inbox_kind::in_place_handler, 1);
      const auto in_place = env.all_gather(box.rcomp())[static_cast<size_t>(env.right())];
      const auto out = message(150'000, 1);
      env.post([&] {
        return lci::post_am_x(env.right(), out.data(), out.size(), lci::COMP_NULL, in_place).runtime(env.rt)();
      });
      box.collect();
      env.barrier();
    }
    EXPECT_EQ(mine.allocated.load(), mine.deallocated.load());
    lci::set_allocator_x(before).runtime(env.rt)();
    lci::free_comp_x(&cq).runtime(env.rt)();
  });
}

TEST_CASE("a remote completion handle's allocator allocates the buffers of its messages with every protocol",
          "[allocator]") {
  on_ranks([](rank_env& env) {
    counting_allocator of_handle, of_runtime;
    lci::set_allocator_x(&of_runtime).runtime(env.rt)();
    auto cq = lci::alloc_cq_x().runtime(env.rt)();
    auto stream = lci::alloc_stream_x().runtime(env.rt)();
    const auto reserved = lci::reserve_rcomps_x(1).runtime(env.rt)();
    const lci::rcomp_t mine[] = {lci::register_rcomp_x(cq).allocator(&of_handle).runtime(env.rt)(),
                                 lci::register_rcomp_x(cq).rcomp(reserved).allocator(&of_handle).runtime(env.rt)(),
                                 lci::register_rcomp_x(cq).runtime(env.rt)()};
    struct handles {
      lci::rcomp_t of[3];
    };
    const auto theirs = env.all_gather(handles{{mine[0], mine[1], mine[2]}})[static_cast<size_t>(env.right())];
    int expected[2] = {0, 0};  // allocations by the handle's allocator, and by the runtime's
    for (const size_t size : {size_t{8}, size_t{3000}, size_t{150'000}, size_t{3'000'000}})
      for (int way = 0; way < 3; ++way)
        for (int h = 0; h < 3; ++h) {
          const auto out = message(size, size);
          auto post = lci::post_am_x(env.right(), out.data(), size, lci::COMP_NULL, theirs.of[h]).runtime(env.rt);
          if (way == 1) post.comp_semantic(lci::comp_semantic_t::remote);
          if (way == 2) post.stream(stream);
          env.post([&] { return post(); });
          lci::status_t s;
          env.until("a message", [&] { return (s = lci::cq_pop_x(cq).runtime(env.rt)()).is_done(); });
          counting_allocator& by = h < 2 ? of_handle : of_runtime;
          ++expected[h < 2 ? 0 : 1];
          EXPECT_EQ(of_handle.allocated.load(), expected[0]);
          EXPECT_EQ(of_runtime.allocated.load(), expected[1]);
          EXPECT(matches(s.buffer, s.size, size));
          by.deallocate(s.buffer);
          env.barrier();
        }
    {  // Buffers that the program does not keep are freed by the allocator that allocated them.
      inbox box(env, inbox_kind::in_place_handler, 1);
      const auto in_place = lci::register_rcomp_x(box.comp()).allocator(&of_handle).runtime(env.rt)();
      const auto to = env.all_gather(in_place)[static_cast<size_t>(env.right())];
      const int before = of_handle.allocated.load();
      const auto out = message(150'000, 1);
      env.post(
          [&] { return lci::post_am_x(env.right(), out.data(), out.size(), lci::COMP_NULL, to).runtime(env.rt)(); });
      box.collect();
      env.barrier();
      EXPECT_EQ(of_handle.allocated.load(), before + 1);
      lci::deregister_rcomp_x(in_place).runtime(env.rt)();
    }
    auto packets = lci::alloc_cq_x().zero_copy_am(true).runtime(env.rt)();
    EXPECT_INVALID(lci::register_rcomp_x(packets).allocator(&of_handle).runtime(env.rt)(), "allocator", "zero_copy_am");
    lci::free_comp_x(&packets).runtime(env.rt)();
    env.barrier();
    EXPECT_EQ(of_handle.allocated.load(), of_handle.deallocated.load());
    EXPECT_EQ(of_runtime.allocated.load(), of_runtime.deallocated.load());
    for (const auto r : mine) lci::deregister_rcomp_x(r).runtime(env.rt)();
    lci::set_allocator_x(nullptr).runtime(env.rt)();
    lci::free_stream_x(&stream).runtime(env.rt)();
    lci::free_comp_x(&cq).runtime(env.rt)();
  });
}
