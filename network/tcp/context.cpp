#include "network/tcp/context.hpp"

#include "network/tcp/device.hpp"

namespace lci::network::sockets {

context::context(address_exchange& exchange, const net_context_attr_t& attr)
    : remote_context(exchange, attr), address_(listening_address(attr.device_name)) {
  offer_liveness(address_);
}

std::unique_ptr<network::device> context::create_device(const device_attr_t&, size_t eager_size) {
  return std::make_unique<device>(*this, eager_size);
}

}  // namespace lci::network::sockets
