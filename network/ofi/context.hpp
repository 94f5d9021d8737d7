// What the devices of one runtime share: the provider and the exchange of addresses.
#pragma once

#include <memory>

#include "network/common/bundle_flusher.hpp"
#include "network/common/remote_context.hpp"
#include "network/fabric.hpp"
#include "network/ofi/handles.hpp"
#include "network/ofi/provider.hpp"

namespace lci::network::ofi {

/// Devices are made collectively: each has its own endpoint, whose address its peers need.
class context final : public remote_context {
 public:
  context(address_exchange& exchange, const net_context_attr_t& attr);

  std::unique_ptr<network::device> create_device(const device_attr_t& attr, size_t eager_size) override;

  const ofi::provider& provider() const { return provider_; }
  fid_fabric& fabric() const { return *fabric_; }
  network::flusher& flusher() { return flusher_; }

 private:
  const ofi::provider provider_;
  owned<fid_fabric> fabric_;
  network::flusher flusher_;
};

}  // namespace lci::network::ofi
