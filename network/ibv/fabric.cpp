#include "network/ibv/fabric.hpp"

#include "network/ibv/adapter.hpp"
#include "network/ibv/context.hpp"

namespace lci::network {

fabric ibv_fabric() {
  return {attr_backend_t::ibv, "ibv", [](const net_context_attr_t&) { return ibv::look(); },
          [](address_exchange& exchange, const net_context_attr_t& attr) -> std::unique_ptr<context> {
            return std::make_unique<ibv::context>(exchange, attr);
          }};
}

}  // namespace lci::network
