#include "network/tcp/context.hpp"

#include "lci/errors.hpp"
#include "network/tcp/device.hpp"

namespace lci::network::sockets {

context::context(address_exchange& exchange, const net_context_attr_t& attr)
    : remote_context(exchange, attr), address_(listening_address(attr.device_name)) {
  offer_liveness(address_);
  if (length_of(address_) == 0)
    throw resource_error("tcp: this host has no address: no interface is up; `ip addr` shows them");
}

std::unique_ptr<network::device> context::create_device(const device_attr_t&, size_t eager_size) {
  return std::make_unique<device>(*this, eager_size);
}

}  // namespace lci::network::sockets
