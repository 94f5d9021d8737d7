// The entry of plain TCP in the table of backends.
#pragma once

#include "network/fabric.hpp"

namespace lci::network {

/// Any network that IP reaches.
fabric tcp_fabric();

}  // namespace lci::network
