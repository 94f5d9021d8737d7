// The entry of libibverbs in the table of backends.
#pragma once

#include "network/fabric.hpp"

namespace lci::network {

/// InfiniBand and RoCE.
fabric ibv_fabric();

}  // namespace lci::network
