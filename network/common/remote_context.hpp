// What the contexts of networks between hosts have in common.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "network/common/liveness.hpp"
#include "network/fabric.hpp"

namespace lci::network {

/// The exchange of addresses, and the liveness connections, which all devices of the context use. Thread-safe once
/// settled. Devices are made collectively, in the same order on all ranks.
class remote_context : public context {
 public:
  void settle(acquaintance how) override { peers_->settle(how); }

  const net_context_attr_t& attr() const { return attr_; }
  address_exchange& exchange() const { return exchange_; }
  liveness& peers() { return *peers_; }
  int rank() const { return exchange_.rank(); }
  int size() const { return exchange_.size(); }
  /// Equal on all ranks.
  uint32_t number_device() { return n_devices_.fetch_add(1, std::memory_order_relaxed); }

 protected:
  remote_context(address_exchange& exchange, const net_context_attr_t& attr) : exchange_(exchange), attr_(attr) {}
  /// The constructor of the derived class calls this once. See liveness.
  void offer_liveness(const sockaddr_storage& own_address) {
    peers_.emplace(exchange_, own_address, attr_.peer_timeout);
  }

 private:
  address_exchange& exchange_;
  const net_context_attr_t attr_;
  std::optional<liveness> peers_;
  std::atomic<uint32_t> n_devices_{0};
};

}  // namespace lci::network
