#include "network/ofi/context.hpp"

#include <algorithm>
#include <cstring>

#include "lci/errors.hpp"
#include "network/ofi/device.hpp"
#include "network/ofi/tag.hpp"

namespace lci::network::ofi {

namespace {

/// The provider's own address, if it is an IP address.
sockaddr_storage address_of(const fi_info& info) {
  sockaddr_storage address{};
  const bool ip =
      info.addr_format == FI_SOCKADDR || info.addr_format == FI_SOCKADDR_IN || info.addr_format == FI_SOCKADDR_IN6;
  if (ip && info.src_addr != nullptr) std::memcpy(&address, info.src_addr, std::min(info.src_addrlen, sizeof address));
  return address;
}

}  // namespace

context::context(address_exchange& exchange, const net_context_attr_t& attr)
    : remote_context(exchange, attr), provider_(attr) {
  offer_liveness(address_of(provider_.info()));
  if (size() > message_tag::max_ranks)
    throw resource_error("ofi: a job may have at most " + std::to_string(message_tag::max_ranks) + " ranks, but has " +
                         std::to_string(size()));
  fid_fabric* fabric = nullptr;
  check(library::get().fabric(provider_.info().fabric_attr, &fabric, nullptr), "fi_fabric of " + provider_.name());
  fabric_.reset(fabric);
}

std::unique_ptr<network::device> context::create_device(const device_attr_t& attr, size_t eager_size) {
  return std::make_unique<device>(*this, attr, eager_size);
}

}  // namespace lci::network::ofi
