// A network that passes all calls to a simulated one, over which puts and gets wait for their target.
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "lci.hpp"
#include "lib/core/device/device.hpp"
#include "network/fabric.hpp"

namespace sim_test {

/// Reports that puts and gets wait for their target, and counts them.
class waiting_network final : public lci::network::device {
 public:
  /// The network of this device from now on.
  static waiting_network* before(lci::device_t device) {
    auto* const made = new waiting_network(std::move(device.p_impl->net));
    device.p_impl->net.reset(made);
    return made;
  }
  explicit waiting_network(std::unique_ptr<lci::network::device> behind) : behind_(std::move(behind)) {
    limits_ = behind_->get_limits();
  }
  bool rma_waits_for(int) const override { return true; }
  lci::errorcode_t post(const lci::network::net_op& op) override {
    if (op.peer == refused) return lci::errorcode_t::retry_nomem;
    if (op.kind != lci::network::verb::send) ++accesses;
    const lci::errorcode_t result = behind_->post(op);
    if (op.kind == lci::network::verb::send && result != lci::errorcode_t::retry && after_send)
      std::exchange(after_send, {})();
    return result;
  }
  int poll(lci::network::event_sink& sink, int max_events) override {
    return silent ? 0 : behind_->poll(sink, max_events);
  }
  lci::network::registration register_memory(void* base, size_t size) override {
    return behind_->register_memory(base, size);
  }
  void deregister_memory(const lci::network::registration& reg) override { behind_->deregister_memory(reg); }
  void wait(int64_t timeout_us) override { behind_->wait(timeout_us); }
  bool flushed() override { return behind_->flushed(); }

  bool silent = false;  // reports nothing
  int refused = -1;     // takes nothing for this peer
  int accesses = 0;
  std::function<void()> after_send;  // called once

 private:
  const std::unique_ptr<lci::network::device> behind_;
};

}  // namespace sim_test
