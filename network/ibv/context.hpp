// What the devices of one runtime share: the port and the exchange of addresses.
#pragma once

#include <memory>

#include "network/common/remote_context.hpp"
#include "network/fabric.hpp"
#include "network/ibv/adapter.hpp"

namespace lci::network::ibv {

/// Devices are made collectively. They share no libibverbs objects, hence no locks and no pages of the card.
class context final : public remote_context {
 public:
  context(address_exchange& exchange, const net_context_attr_t& attr);

  std::unique_ptr<network::device> create_device(const device_attr_t& attr, size_t eager_size) override;

  const adapter& card() const { return card_; }
  attr_ibv_odp_strategy_t paging() const { return paging_; }

 private:
  const adapter card_;
  const attr_ibv_odp_strategy_t paging_;
};

}  // namespace lci::network::ibv
