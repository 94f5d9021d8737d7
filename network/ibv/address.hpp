// What ranks tell each other of a device, so that each queue pair finds the one at its other end.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "network/fabric.hpp"

namespace lci::network::ibv {

/// Of a device. As it is on the wire.
struct address {
  static constexpr uint32_t magic_number = 0x4c434904;  // also tells machines of the other byte order

  uint32_t magic = magic_number;
  uint32_t first_packet = 0;  ///< the number with which its queue pairs begin
  uint64_t longest = 0;       ///< how long a message fits into its receive buffers
  uint8_t gid[16] = {};
  uint16_t lid = 0;
  uint8_t mtu = 0;           ///< an ibv_mtu
  uint8_t reads_served = 0;  ///< reads that it serves at a time
  uint8_t reads_made = 0;    ///< and asks for at most
  uint8_t has_gid = 0;
  uint8_t unused[2] = {};
  uint64_t credits_at = 0;    ///< where it is told how many of its messages were taken: a word for each rank
  uint64_t credits_key = 0;   ///< the rkey of these
};
static_assert(sizeof(address) == 56);

/// An address, and the number of the queue pair there that is for this rank.
struct remote_end {
  address device;
  uint32_t pair = 0;
};

/// Offers our address. `pairs`: the number of our queue pair for each rank.
address_exchange::ticket offer_address(address_exchange& exchange, const address& mine,
                                       const std::vector<uint32_t>& pairs);

/// All ranks' addresses, once that is published. Collective: jobs of very many ranks publish again. Throws
/// bootstrap_error if the ranks don't fit together.
std::vector<remote_end> read_addresses(address_exchange& exchange, address_exchange::ticket offered,
                                       const address& mine, const std::vector<uint32_t>& pairs);

}  // namespace lci::network::ibv
