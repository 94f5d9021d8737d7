// Resources are allocated and freed many times: nothing leaks, runs out or hangs.
#include <algorithm>
#include <fstream>

#include "tests/conformance/inbox.hpp"
#include "tests/conformance/pattern.hpp"

using namespace conf;

namespace {

/// Resident memory of this process in KiB.
long resident() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line))
    if (line.rfind("VmRSS:", 0) == 0) return std::stol(line.substr(6));
  return 0;
}
long open_files() {
  long n = 0;
  for (int fd = 0; fd < 1024; ++fd) n += std::ifstream("/proc/self/fdinfo/" + std::to_string(fd)).good();
  return n;
}

void exchange_one(rank_env& env, inbox& box, lci::device_t device, lci::rcomp_t rcomp) {
  const uint64_t word = 1;
  env.post(device, [&] {
    return lci::post_am_x(env.right(), &word, sizeof word, lci::COMP_NULL_RETRY, rcomp)
        .runtime(env.rt)
        .device(device)();
  });
  env.until(device, "a message", [&] { return !box.empty(); });
  box.collect();
}

}  // namespace

TEST_CASE("many devices one after the other neither leak nor exhaust anything", "[lifecycle]") {
  lci_test::time_limit(150);
  on_ranks([](rank_env& env) {
    // More than a rank can have at once, so their numbers and what is stored under them are used again.
    const int cycles = lci_test::sanitized ? 200 : 1100;
    inbox box(env, inbox_kind::queue_lcrq, 1);
    const auto rcomp = env.all_gather(box.rcomp())[static_cast<size_t>(env.right())];
    long memory = 0, files = 0;
    for (int i = 0; i < cycles; ++i) {
      auto device = lci::alloc_device_x().runtime(env.rt)();
      env.barrier();
      if (i % 100 == 0 || i > 1020) exchange_one(env, box, device, rcomp);
      env.barrier();
      lci::free_device_x(&device).runtime(env.rt)();
      if (i == cycles / 4) memory = resident(), files = open_files();
    }
    // A rank may open a file for each of the others, to watch its process.
    EXPECT(open_files() <= files + 2 + env.size);
    if (!lci_test::sanitized && !ranks_in_one_process()) EXPECT(resident() <= memory + 4096);
    const auto out = message(lci::get_max_bcopy_size_x().runtime(env.rt)(), 1);
    env.post([&] {
      return lci::post_am_x(env.right(), out.data(), out.size(), lci::COMP_NULL_RETRY, rcomp).runtime(env.rt)();
    });
    EXPECT_EQ(box.collect().front().data.size(), out.size());
  });
}

TEST_CASE("devices with unread messages can be freed", "[lifecycle]") {
  on_ranks([](rank_env& env) {
    inbox box(env, inbox_kind::counter, 1);
    const auto rcomp = env.all_gather(box.rcomp())[static_cast<size_t>(env.right())];
    for (int i = 0; i < 20; ++i) {
      auto device = lci::alloc_device_x().runtime(env.rt)();
      env.barrier();
      const auto out = message(3000, 1);
      for (int k = 0; k < 20; ++k)
        (void)lci::post_am_x(env.right(), out.data(), out.size(), lci::COMP_NULL_RETRY, rcomp)
            .runtime(env.rt)
            .device(device)();
      env.barrier();
      lci::free_device_x(&device).runtime(env.rt)();
      EXPECT(device.is_empty());
    }
    // The default device still works.
    env.barrier();
    const auto before = lci::counter_get_x(box.comp()).runtime(env.rt)();
    env.barrier();
    const uint64_t word = 1;
    env.post(
        [&] { return lci::post_am_x(env.right(), &word, sizeof word, lci::COMP_NULL_RETRY, rcomp).runtime(env.rt)(); });
    env.until("a message", [&] { return lci::counter_get_x(box.comp()).runtime(env.rt)() == before + 1; });
  });
}

TEST_CASE("thousands of completion objects can be allocated and freed", "[lifecycle]") {
  on_ranks([](rank_env& env) {
    const auto rt = env.rt;
    const int cycles = lci_test::sanitized ? 1000 : 5000;
    constexpr lci::rcomp_t new_numbers = 4096;  // which the first registrations get
    lci::rcomp_t largest = 0;
    for (int i = 0; i < cycles; ++i) {
      lci::comp_t all[] = {
          lci::alloc_cq_x().runtime(rt)(),
          lci::alloc_cq_x().cq_type(lci::attr_cq_type_t::array_atomic).cq_default_length(64).runtime(rt)(),
          lci::alloc_sync_x().threshold(3).runtime(rt)(), lci::alloc_counter_x().runtime(rt)(),
          lci::alloc_handler_x([](lci::status_t) {}).runtime(rt)()};
      for (auto& c : all) {
        const auto rcomp = lci::register_rcomp_x(c).runtime(rt)();
        largest = std::max(largest, rcomp & 0xffffff);
        lci::deregister_rcomp_x(rcomp).runtime(rt)();
        lci::free_comp_x(&c).runtime(rt)();
        if (!c.is_empty()) EXPECT(c.is_empty());
      }
      lci::comp_t graph = lci::alloc_graph_x().runtime(rt)();
      lci::free_comp_x(&graph).runtime(rt)();
    }
    EXPECT(largest <= new_numbers + 16);  // later, numbers are used again
  });
}

TEST_CASE("matching engines and packet pools can be allocated and freed many times", "[lifecycle]") {
  on_ranks([](rank_env& env) {
    const auto rt = env.rt;
    const int cycles = lci_test::sanitized ? 100 : 1000;
    for (int i = 0; i < cycles; ++i) {
      auto engine = lci::alloc_matching_engine_x().runtime(rt)();
      auto pool = lci::alloc_packet_pool_x().runtime(rt)();
      void* packet = lci::get_upacket_x().packet_pool(pool).runtime(rt)();
      EXPECT(packet != nullptr);
      lci::put_upacket_x(packet).runtime(rt)();
      lci::free_packet_pool_x(&pool).runtime(rt)();
      lci::free_matching_engine_x(&engine).runtime(rt)();
      EXPECT(engine.is_empty() && pool.is_empty());
    }
  });
}

TEST_CASE("a runtime with an unmatched receive can be freed", "[lifecycle]") {
  static char buffer[8];
  on_ranks([](rank_env& env) {
    auto sync = lci::alloc_sync_x().runtime(env.rt)();
    for (lci::tag_t tag = 0; tag < 10; ++tag) {
      const auto r = lci::post_recv_x(env.left(), buffer, sizeof buffer, 77 + tag, sync).runtime(env.rt)();
      EXPECT(r.is_posted());
    }
    // The receives are still posted when the synchronizer and then the runtime are freed.
    lci::free_comp_x(&sync).runtime(env.rt)();
  });
}

TEST_CASE("a runtime with unexpected messages can be freed", "[lifecycle]") {
  on_ranks([](rank_env& env) {
    const auto small = message(100, 1);
    for (lci::tag_t tag = 0; tag < 50; ++tag)
      EXPECT(
          env.post([&] {
               return lci::post_send_x(env.right(), small.data(), small.size(), tag, lci::COMP_NULL).runtime(env.rt)();
             })
              .is_done());
    env.barrier();
    for (int i = 0; i < 200; ++i) env.progress();
  });
}

TEST_CASE("endpoints of a device serve posts", "[lifecycle]") {
  on_ranks([](rank_env& env) {
    inbox box(env, inbox_kind::queue_lcrq, 1);
    const auto rcomp = env.all_gather(box.rcomp())[static_cast<size_t>(env.right())];
    for (int i = 0; i < 50; ++i) {
      auto endpoint = lci::alloc_endpoint_x().device(env.device).runtime(env.rt)();
      const uint64_t word = 5;
      env.post([&] {
        return lci::post_am_x(env.right(), &word, sizeof word, lci::COMP_NULL_RETRY, rcomp)
            .endpoint(endpoint)
            .runtime(env.rt)();
      });
      EXPECT_EQ(box.collect().front().status.rank, env.left());
      env.barrier();
      lci::free_endpoint_x(&endpoint).runtime(env.rt)();
    }
  });
}
