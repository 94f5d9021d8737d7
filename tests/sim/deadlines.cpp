// Networks over which puts stay outstanding until their target polls: the core knows of an operation's deadline in
// time to send its data as messages.
#include <catch2/catch.hpp>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "lci.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/wire/wire.hpp"
#include "network/fabric.hpp"
#include "tests/sim/sim_runtime.hpp"

namespace {

namespace net = lci::network;

/// A device that passes all calls to a simulated one, reports that puts wait for their target, and counts puts and
/// gets.
class waiting_network final : public net::device {
 public:
  explicit waiting_network(std::unique_ptr<net::device> behind) : behind_(std::move(behind)) {
    limits_ = behind_->get_limits();
  }
  bool rma_waits_for(int) const override { return true; }
  lci::errorcode_t post(const net::net_op& op) override {
    if (op.kind != net::verb::send) ++accesses;
    const lci::errorcode_t result = behind_->post(op);
    if (op.kind == net::verb::send && result != lci::errorcode_t::retry && after_send) std::exchange(after_send, {})();
    return result;
  }
  int poll(net::event_sink& sink, int max_events) override { return behind_->poll(sink, max_events); }
  net::registration register_memory(void* base, size_t size) override { return behind_->register_memory(base, size); }
  void deregister_memory(const net::registration& reg) override { behind_->deregister_memory(reg); }
  void wait(int64_t timeout_us) override { behind_->wait(timeout_us); }
  bool flushed() override { return behind_->flushed(); }

  int accesses = 0;
  std::function<void()> after_send;  // called once

 private:
  const std::unique_ptr<net::device> behind_;
};

}  // namespace

TEST_CASE("a send goes by messages if another thread handles its answer before the post arms its deadline") {
  auto rt = sim_test::over_sim();
  auto& device = *lci::get_default_device_x().runtime(rt)().p_impl;
  auto* const network = new waiting_network(std::move(device.net));
  device.net.reset(network);
  const std::vector<char> out(100'000, 'x');
  std::vector<char> in(out.size());
  auto sync = lci::alloc_sync_x().threshold(2).runtime(rt)();
  REQUIRE(lci::post_recv_x(0, in.data(), in.size(), 1, sync).runtime(rt)().is_posted());
  network->after_send = [&] {
    std::thread([&] {
      while (!lci::sync_test_x(sync, nullptr).runtime(rt)()) lci::progress_x().runtime(rt)();
    }).join();
  };
  lci::status_t sent = lci::post_send_x(0, out.data(), out.size(), 1, sync).deadline(3600).runtime(rt)();
  REQUIRE(sent.is_posted());
  CHECK(network->after_send == nullptr);
  CHECK(in == out);
  CHECK(network->accesses == 0);
  lci::free_comp_x(&sync).runtime(rt)();
  lci::free_runtime(&rt);
}
