// Queue pairs: creation, and the transitions from RESET to RTS.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

#include "network/ibv/adapter.hpp"
#include "network/ibv/address.hpp"
#include "network/ibv/handles.hpp"

namespace lci::network::ibv {

/// Outstanding RDMA reads of one queue pair.
constexpr int most_reads = 16;

/// Makes the queue pairs of a device, all with the same attributes.
class pair_maker {
 public:
  static constexpr size_t largest_inline = 1024;

  pair_maker(ibv_cq& completions, ibv_srq& receives, uint32_t sends, uint32_t inline_wanted)
      : completions_(completions), receives_(receives), sends_(sends), inline_size_(inline_wanted) {}

  /// Throws resource_error.
  owned<ibv_qp> make(ibv_pd& domain);
  /// Bytes that fit into a work request; valid after make(), which finds the limit by asking for too much.
  uint32_t inline_size() const { return inline_size_; }

 private:
  ibv_cq& completions_;
  ibv_srq& receives_;
  const uint32_t sends_;
  uint32_t inline_size_;
};

/// Connects a queue pair with its peer's: from then on it can receive and send. Throws resource_error.
void connect_pair(ibv_qp& pair, const adapter& card, const address& mine, const remote_end& other, int rank);

/// Flushes all outstanding requests, as a card may retry to a failed peer for ever.
void give_up_pair(ibv_qp& pair);

}  // namespace lci::network::ibv
