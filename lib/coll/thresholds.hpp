// Sizes and numbers of ranks by which a collective operation chooses its algorithm if the program leaves `algorithm` at
// `none`. All ranks must choose the same one, so the choice depends on nothing else, and is not measured.
//
// direct: one message for each pair of ranks at once, so that data are on the way once. For few ranks, or small data.
// tree: the root, or each rank, sends few messages. For many ranks, as each message takes time at its sender.
// ring: all ranks send and receive parts at the same time. For data so large that bandwidth decides.
#pragma once

#include <cstddef>

namespace lci::coll::thresholds {

// Sizes are in bytes: of a rank's block (allgather, gather), else of the whole buffer.
constexpr size_t allgather_ring_above = 4096;

constexpr int allreduce_direct_ranks = 4;  // at most so many
constexpr size_t allreduce_direct_most = 4096;
constexpr size_t allreduce_ring_above = 256 << 10;

constexpr int broadcast_direct_ranks = 8;
constexpr size_t broadcast_ring_above = 64 << 10;

constexpr int gather_direct_ranks = 8;  // of a scatter as well
constexpr size_t gather_tree_most = 4096;

constexpr int reduce_scatter_direct_ranks = 16;
constexpr size_t reduce_scatter_tree_most = 16 << 10;
constexpr size_t reduce_scatter_ring_above = 64 << 10;

}  // namespace lci::coll::thresholds
