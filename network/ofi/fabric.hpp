// The entry of libfabric in the table of backends.
#pragma once

#include "network/fabric.hpp"

namespace lci::network {

/// Any network that libfabric supports.
fabric ofi_fabric();

}  // namespace lci::network
