// Opens the network that the attributes ask for: one backend, or two joined.
#pragma once

#include <memory>

#include "network/fabric.hpp"

namespace lci::network {

/// The entry of the table of backends that `attr.backend` names; for an automatic choice the entry of shared memory,
/// which is always tried first. Throws invalid_argument_error if the backend can't be used, resource_error if the
/// system refuses its resources.
const fabric& choose_fabric(const net_context_attr_t& attr);

struct opened {
  attr_backend_t backend;  ///< the one that leads to other hosts, if there are two
  std::unique_ptr<context> net;
};

/// Collective. `outside`: with peers outside of the job, also on other hosts. Throws invalid_argument_error if no
/// network connects the ranks.
opened open_network(address_exchange& exchange, const net_context_attr_t& attr, bool outside);

}  // namespace lci::network
