// What the devices of one runtime share: the address to listen on, the liveness connections and the bundle flusher.
#pragma once

#include <chrono>
#include <memory>

#include "network/common/bundle_flusher.hpp"
#include "network/common/remote_context.hpp"
#include "network/fabric.hpp"

namespace lci::network::sockets {

/// Devices are made collectively: each listens on its own port, which its peers must know.
class context final : public remote_context {
 public:
  context(address_exchange& exchange, const net_context_attr_t& attr);

  std::unique_ptr<network::device> create_device(const device_attr_t& attr, size_t eager_size) override;

  const sockaddr_storage& address() const { return address_; }
  std::chrono::milliseconds timeout() const {
    return std::chrono::milliseconds(static_cast<int64_t>(attr().peer_timeout * 1000));
  }
  network::flusher& flusher() { return flusher_; }

 private:
  const sockaddr_storage address_;
  network::flusher flusher_;
};

}  // namespace lci::network::sockets
