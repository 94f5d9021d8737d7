#include "network/shm/fabric.hpp"

#include "network/shm/context.hpp"

namespace lci::network {

fabric shm_fabric() {
  return {attr_backend_t::shm, "shm", [](const net_context_attr_t&) { return usability{}; },
          [](address_exchange& exchange, const net_context_attr_t& attr) -> std::unique_ptr<context> {
            return std::make_unique<shm::context>(exchange, attr);
          }};
}

}  // namespace lci::network
