// What the devices of one runtime share: the port and the exchange of addresses.
#pragma once

#include <memory>

#include "network/common/liveness.hpp"
#include "network/fabric.hpp"
#include "network/ibv/adapter.hpp"

namespace lci::network::ibv {

/// Devices are made collectively. They share no libibverbs objects, hence no locks and no pages of the card.
class context final : public network::context {
 public:
  context(address_exchange& exchange, const net_context_attr_t& attr);

  void settle(acquaintance how) override { peers_.settle(how); }

  std::unique_ptr<network::device> create_device(const device_attr_t& attr,
                                                 size_t eager_size) override;

  const net_context_attr_t& attr() const { return attr_; }
  const adapter& card() const { return card_; }
  attr_ibv_odp_strategy_t paging() const { return paging_; }
  address_exchange& exchange() const { return exchange_; }
  liveness& peers() { return peers_; }
  int rank() const { return exchange_.rank(); }
  int size() const { return exchange_.size(); }

 private:
  address_exchange& exchange_;
  const net_context_attr_t attr_;
  const adapter card_;
  const attr_ibv_odp_strategy_t paging_;
  liveness peers_;
};

}  // namespace lci::network::ibv
