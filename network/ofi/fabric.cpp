#include "network/ofi/fabric.hpp"

#include "network/ofi/context.hpp"
#include "network/ofi/provider.hpp"

namespace lci::network {

fabric ofi_fabric() {
  return {attr_backend_t::ofi, "ofi", ofi::look,
          [](address_exchange& exchange, const net_context_attr_t& attr) -> std::unique_ptr<context> {
            return std::make_unique<ofi::context>(exchange, attr);
          }};
}

}  // namespace lci::network
