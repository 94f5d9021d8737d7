// How long a rendezvous takes is recorded for messages of its size, also if both processes move a part of its data.
#include <catch2/catch.hpp>
#include <vector>

#include "lci.hpp"
#include "lib/core/device/device.hpp"
#include "network/sim/world.hpp"
#include "tests/sim/sim_runtime.hpp"
#include "tests/unit/network_of_limits.hpp"

using lci::core::protocol;

namespace {

/// A message from and to rank 0.
void send_and_receive(lci::runtime_t rt, const std::vector<char>& out) {
  std::vector<char> in(out.size());
  auto sync = lci::alloc_sync_x().threshold(2).runtime(rt)();
  REQUIRE(lci::post_recv_x(0, in.data(), in.size(), 1, sync).runtime(rt)().is_posted());
  REQUIRE(lci::post_send_x(0, out.data(), out.size(), 1, sync).runtime(rt)().is_posted());
  while (!lci::sync_test_x(sync, nullptr).runtime(rt)()) lci::progress_x().runtime(rt)();
  CHECK(in == out);
  lci::free_comp_x(&sync).runtime(rt)();
}

}  // namespace

TEST_CASE("a message of which each process moves a part is measured by its whole size") {
  auto rt = sim_test::over_sim([] { return lci::alloc_runtime_x().rdv_protocol(lci::attr_rdv_protocol_t::split)(); });

  const std::vector<char> out(60'000, 'x');
  auto& table = lci::get_default_device_x().runtime(rt)().p_impl->protocols;
  table.begin_at(25'000, 24'999);  // a protocol that is named turns the measurement off
  const lci_test::network_of_limits net{size_t{128} << 10};
  while (table.is_eager(net, 0, out.size())) table.sent_eager(0, out.size());  // until the other protocol is tried
  while (!table.is_eager(net, 0, out.size())) send_and_receive(rt, out);       // until that trial ends
  CHECK(table.estimate(0, out.size(), protocol::rendezvous) > 0);
  CHECK(table.estimate(0, out.size() / 2, protocol::rendezvous) == 0);
  lci::free_runtime(&rt);
}
