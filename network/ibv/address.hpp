// The addresses that ranks exchange, so that each queue pair can connect to its peer.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "network/fabric.hpp"

namespace lci::network::ibv {

/// Address of a device, in wire format.
struct address {
  static constexpr uint32_t magic_number = 0x4c434904;  // also detects hosts with another byte order

  uint32_t magic = magic_number;
  uint32_t first_packet = 0;  ///< the first packet sequence number of its queue pairs
  uint64_t longest = 0;       ///< bytes of its receive buffers
  uint8_t gid[16] = {};
  uint16_t lid = 0;
  uint8_t mtu = 0;           ///< an ibv_mtu
  uint8_t reads_served = 0;  ///< number of RDMA reads that it serves at a time
  uint8_t reads_made = 0;    ///< maximum number of RDMA reads that it has outstanding
  uint8_t has_gid = 0;
  uint8_t unused[2] = {};
  uint64_t credits_at = 0;   ///< credits: for each rank, how many of our messages it has taken
  uint64_t credits_key = 0;  ///< the rkey of that array
};
static_assert(sizeof(address) == 56);

/// A peer's address, and the number of its queue pair for this rank.
struct remote_end {
  address device;
  uint32_t pair = 0;
};

/// Offers our address. `pairs`: numbers of our queue pairs, by rank.
address_exchange::offer_id offer_address(address_exchange& exchange, const address& mine,
                                         const std::vector<uint32_t>& pairs);

/// Reads the addresses of all ranks, after publish(). Collective: jobs of very many ranks publish again. Throws
/// bootstrap_error if the ranks are not compatible.
std::vector<remote_end> read_addresses(address_exchange& exchange, address_exchange::offer_id offered,
                                       const address& mine, const std::vector<uint32_t>& pairs);

}  // namespace lci::network::ibv
