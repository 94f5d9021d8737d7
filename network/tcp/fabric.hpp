// The entry of plain TCP in the table of backends.
#pragma once

#include <memory>

#include "network/common/datagrams.hpp"
#include "network/common/outside.hpp"
#include "network/fabric.hpp"

namespace lci::network {

/// Any network that IP reaches.
fabric tcp_fabric();

/// For peers outside of the job, wherever they run. `rank`: the own one. `opener`: opens networks other than TCP; may
/// be empty. Throws invalid_argument_error if the attributes
/// contradict each other, resource_error if it can't listen.
std::unique_ptr<outside_context> tcp_outside(const net_context_attr_t& attr, int rank, datagram_opener opener);

}  // namespace lci::network
