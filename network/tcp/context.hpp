// What the devices of one runtime share: the address to listen on, the liveness connections and the bundle flusher.
#pragma once

#include <chrono>
#include <memory>

#include "network/common/bundle_flusher.hpp"
#include "network/common/liveness.hpp"
#include "network/fabric.hpp"

namespace lci::network::sockets {

/// Devices are made collectively: each listens on its own port, which its peers must know.
class context final : public network::context {
 public:
  context(address_exchange& exchange, const net_context_attr_t& attr);

  void settle(acquaintance how) override { peers_.settle(how); }
  std::unique_ptr<network::device> create_device(const device_attr_t& attr, size_t eager_size) override;

  const net_context_attr_t& attr() const { return attr_; }
  const sockaddr_storage& address() const { return address_; }
  std::chrono::milliseconds timeout() const {
    return std::chrono::milliseconds(static_cast<int64_t>(attr_.peer_timeout * 1000));
  }
  liveness& peers() { return peers_; }
  network::flusher& flusher() { return flusher_; }
  int rank() const { return exchange_.rank(); }
  int size() const { return exchange_.size(); }
  address_exchange& exchange() { return exchange_; }

 private:
  address_exchange& exchange_;
  const net_context_attr_t attr_;
  const sockaddr_storage address_;
  liveness peers_;
  network::flusher flusher_;
};

}  // namespace lci::network::sockets
