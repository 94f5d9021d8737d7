// What the devices of one runtime share: the provider and the exchange of addresses.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "network/common/bundle_flusher.hpp"
#include "network/common/liveness.hpp"
#include "network/fabric.hpp"
#include "network/ofi/handles.hpp"
#include "network/ofi/provider.hpp"

namespace lci::network::ofi {

/// Devices are made collectively: each has its own endpoint, whose address its peers need.
class context final : public network::context {
 public:
  context(address_exchange& exchange, const net_context_attr_t& attr);

  void settle(acquaintance how) override { peers_.settle(how); }

  std::unique_ptr<network::device> create_device(const device_attr_t& attr,
                                                 size_t eager_size) override;

  const net_context_attr_t& attr() const { return attr_; }
  const ofi::provider& provider() const { return provider_; }
  fid_fabric& fabric() const { return *fabric_; }
  liveness& peers() { return peers_; }
  /// Equal on all ranks, which make their devices in the same order.
  uint32_t number_device() { return n_devices_.fetch_add(1, std::memory_order_relaxed); }
  network::flusher& flusher() { return flusher_; }
  int rank() const { return exchange_.rank(); }
  int size() const { return exchange_.size(); }

  address_exchange& exchange() { return exchange_; }

 private:
  address_exchange& exchange_;
  const net_context_attr_t attr_;
  const ofi::provider provider_;
  owned<fid_fabric> fabric_;
  liveness peers_;
  network::flusher flusher_;
  std::atomic<uint32_t> n_devices_{0};
};

}  // namespace lci::network::ofi
