// From attributes to a network: one backend, or two of them joined.
#pragma once

#include <memory>

#include "network/fabric.hpp"

namespace lci::network {

/// The entry of the table of backends that `attr.backend` names; for an automatic choice that of shared
/// memory, where each begins. Throws invalid_argument_error if it can't be used.
const fabric& choose_fabric(const net_context_attr_t& attr);

struct opened {
  attr_backend_t backend;  ///< the one that leads to other hosts, where there are two
  std::unique_ptr<context> net;
};

/// Collective. Throws invalid_argument_error if there is no network between the ranks.
opened open_network(address_exchange& exchange, const net_context_attr_t& attr);

}  // namespace lci::network
