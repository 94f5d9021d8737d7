// Buffers that the user has registered are not registered again for a transfer.
#include <algorithm>
#include <catch2/catch.hpp>
#include <vector>

#include "lci.hpp"
#include "lib/core/device/device.hpp"
#include "network/sim/world.hpp"
#include "tests/sim/sim_runtime.hpp"
#include "tests/sim/waiting_network.hpp"

namespace {

/// The maximum number of registrations at a time during one large send to the same rank.
uint64_t most_registrations(lci::attr_rdv_protocol_t protocol, bool registered_by_user) {
  auto rt = sim_test::over_sim([=] { return lci::alloc_runtime_x().rdv_protocol(protocol)(); });
  const auto stats = [] { return lci::network::sim::world::current()->stats(); };
  const uint64_t at_first = stats().registrations;  // packets
  std::vector<char> out(200'000, 'x'), in(out.size());
  lci::mr_t out_mr, in_mr;
  if (registered_by_user) {
    out_mr = lci::register_memory_x(out.data(), out.size()).runtime(rt)();
    in_mr = lci::register_memory_x(in.data(), in.size()).runtime(rt)();
  }
  auto sync = lci::alloc_sync_x().threshold(2).runtime(rt)();
  auto receive = lci::post_recv_x(0, in.data(), in.size(), 1, sync);
  auto send = lci::post_send_x(0, out.data(), out.size(), 1, sync);
  REQUIRE(receive.mr(in_mr).runtime(rt)().is_posted());
  REQUIRE(send.mr(out_mr).runtime(rt)().is_posted());
  uint64_t most = 0;
  while (!lci::sync_test_x(sync, nullptr).runtime(rt)()) {
    most = std::max(most, stats().registrations);
    lci::progress_x().runtime(rt)();
  }
  CHECK(in == out);
  CHECK(stats().registrations == at_first + (registered_by_user ? 2 : 0));
  lci::free_comp_x(&sync).runtime(rt)();
  if (registered_by_user) {
    lci::deregister_memory_x(&in_mr).runtime(rt)();
    lci::deregister_memory_x(&out_mr).runtime(rt)();
  }
  lci::free_runtime(&rt);
  return most - at_first;
}

}  // namespace

TEST_CASE("a transfer uses the registration that the user gives") {
  using protocol = lci::attr_rdv_protocol_t;
  for (const protocol p : {protocol::read, protocol::write, protocol::writeimm, protocol::split}) {
    CHECK(most_registrations(p, true) == 2);
    CHECK(most_registrations(p, false) == 2);
  }
}

TEST_CASE("a range that was registered with a device ends with the device") {
  auto rt = sim_test::over_sim();
  std::vector<char> memory(1000);
  const auto address = reinterpret_cast<uint64_t>(memory.data());
  auto first = lci::alloc_device_x().runtime(rt)();
  auto mr = lci::register_memory_x(memory.data(), memory.size()).runtime(rt).device(first)();
  const lci::rmr_t rmr = lci::get_rmr_x(mr).runtime(rt)();
  CHECK(first.p_impl->ranges.find(rmr.opaque_rkey, address, memory.size(), true) == memory.data());
  lci::free_device_x(&first).runtime(rt)();
  auto second = lci::alloc_device_x().runtime(rt)();
  CHECK(second.p_impl->ranges.find(rmr.opaque_rkey, address, memory.size(), true) == nullptr);
  lci::deregister_memory_x(&mr).runtime(rt)();
  lci::free_device_x(&second).runtime(rt)();
  lci::free_runtime(&rt);
}

TEST_CASE("a packet pool stays registered while the network reads its packets") {
  auto rt = sim_test::over_sim();
  auto device = lci::get_default_device_x().runtime(rt)();
  auto* const network = sim_test::waiting_network::before(device);
  auto pool = lci::alloc_packet_pool_x().packet_size(4096).npackets(64).runtime(rt)();
  lci::register_packet_pool_x(pool, device).runtime(rt)();
  std::vector<char> buffer(3000);
  network->silent = true;
  for (int i = 0; i < 20; ++i)  // the network completes some of them at once
    REQUIRE(lci::post_send_x(0, buffer.data(), buffer.size(), 1, lci::COMP_NULL_RETRY)
                .packet_pool(pool)
                .allow_retry(false)
                .runtime(rt)()
                .is_done());
  CHECK_THROWS_AS(lci::deregister_packet_pool_x(pool, device).runtime(rt)(), lci::invalid_argument_error);
  // The device can send its packets by the other registration.
  lci::register_packet_pool_x(pool, device).runtime(rt)();
  lci::deregister_packet_pool_x(pool, device).runtime(rt)();
  network->silent = false;
  lci::wait_drained_x().device(device).runtime(rt)();
  void* const held = lci::get_upacket_x().packet_pool(pool).runtime(rt)();
  lci::deregister_packet_pool_x(pool, device).runtime(rt)();
  lci::put_upacket_x(held).runtime(rt)();
  lci::free_packet_pool_x(&pool).runtime(rt)();
  for (int i = 0; i < 20; ++i)
    REQUIRE(lci::post_recv_x(0, buffer.data(), buffer.size(), 1, lci::COMP_NULL).runtime(rt)().is_done());
  lci::free_runtime(&rt);
}
