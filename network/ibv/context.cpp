#include "network/ibv/context.hpp"

#include "lci/errors.hpp"
#include "network/ibv/completion.hpp"
#include "network/ibv/device.hpp"
#include "network/ibv/memory.hpp"

namespace lci::network::ibv {

context::context(address_exchange& exchange, const net_context_attr_t& attr)
    : remote_context(exchange, attr), card_(attr), paging_(usable_paging(card_, attr)) {
  offer_liveness({});
  if (size() > work_id::max_peers)
    throw resource_error("ibv: a job may have at most " + std::to_string(work_id::max_peers) + " ranks, but has " +
                         std::to_string(size()));
}

std::unique_ptr<network::device> context::create_device(const device_attr_t& attr, size_t eager_size) {
  return std::make_unique<device>(*this, attr, eager_size);
}

}  // namespace lci::network::ibv
