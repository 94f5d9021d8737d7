// The entry of libfabric in the table of backends.
#pragma once

#include <memory>

#include "network/common/datagrams.hpp"
#include "network/fabric.hpp"

namespace lci::network {

/// Any network that libfabric supports.
fabric ofi_fabric();

/// Reliable datagrams of a provider, for peers outside of the job; see datagram_opener.
std::unique_ptr<datagram_network> ofi_datagrams(const net_context_attr_t& attr, const datagram_request& wanted);

}  // namespace lci::network
