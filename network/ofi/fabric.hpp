#pragma once

#include "network/fabric.hpp"

namespace lci::network {

/// Whatever libfabric reaches.
fabric ofi_fabric();

}  // namespace lci::network
