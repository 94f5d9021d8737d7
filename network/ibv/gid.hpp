// The address of a port on RoCE, or across subnets of InfiniBand.
#pragma once

#include <infiniband/verbs.h>

#include "lci/attributes.hpp"

namespace lci::network::ibv {

struct gid_choice {
  ::ibv_gid value{};
  int index = -1;  ///< -1: peers are addressed by LID only
};

/// Selects the GID that the attributes ask for, else the best routable one. Throws invalid_argument_error for an index
/// that is out of range or not in use, resource_error if there is none. `name`: of the device, for messages.
gid_choice choose_gid(ibv_context& device, const char* name, uint8_t port, const ibv_port_attr& port_attr,
                      const net_context_attr_t& attr);

}  // namespace lci::network::ibv
