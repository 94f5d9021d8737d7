// The shared-memory fabric's entry in the table of backends.
#pragma once

#include "network/fabric.hpp"

namespace lci::network {

fabric shm_fabric();

}  // namespace lci::network
