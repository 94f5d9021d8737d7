// Queue pairs: how they are made, and led from reset to ready.
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

#include "network/ibv/adapter.hpp"
#include "network/ibv/address.hpp"
#include "network/ibv/handles.hpp"

namespace lci::network::ibv {

/// Reads of one queue pair that are under way at a time.
constexpr int most_reads = 16;

/// Makes the queue pairs of a device, all alike.
class pair_maker {
 public:
  static constexpr size_t largest_inline = 1024;

  pair_maker(ibv_cq& completions, ibv_srq& receives, uint32_t sends, uint32_t inline_wanted)
      : completions_(completions), receives_(receives), sends_(sends), inline_size_(inline_wanted) {}

  /// Throws resource_error.
  owned<ibv_qp> make(ibv_pd& domain);
  /// How much fits into a work request; after make(). Only by asking for too much is it known.
  uint32_t inline_size() const { return inline_size_; }

 private:
  ibv_cq& completions_;
  ibv_srq& receives_;
  const uint32_t sends_;
  uint32_t inline_size_;
};

/// Connects one with its other end: from then on it receives and may send. Throws resource_error.
void connect_pair(ibv_qp& pair, const adapter& card, const address& mine, const remote_end& other, int rank);

/// Ends all that is under way on it, as flushed: a card may go on for ever to ask a peer that is dead.
void give_up_pair(ibv_qp& pair);

}  // namespace lci::network::ibv
