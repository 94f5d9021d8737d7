// The simulated network's entry in the table of backends.
#pragma once

#include "network/fabric.hpp"

namespace lci::network {

fabric sim_fabric();

}  // namespace lci::network
