// Parts that several collective operations are made of. Each adds nodes to a plan: `start` is what
// must have ended before it touches the buffers, the result is what ends with it. `step` is the
// first of the steps that it uses; they end before `step + steps_of_part`.
#pragma once

#include "lib/coll/plan.hpp"

namespace lci::coll {

constexpr size_t steps_of_part = 1024;

/// Copies `size` bytes from the root to all, along a binomial tree.
plan::node broadcast_tree(plan& p, void* buffer, size_t size, int root, size_t step,
                          plan::node start);

/// Combines the items of all ranks, in the order of ranks, at the root. `recvbuf` is only used
/// there, and may be `sendbuf`.
plan::node reduce_tree(plan& p, const void* sendbuf, void* recvbuf, const reduction& r, int root,
                       size_t step, plan::node start);

/// Gives each rank its block of the root's buffer, along a binomial tree.
plan::node scatter_tree(plan& p, const void* sendbuf, void* recvbuf, size_t size, int root,
                        size_t step, plan::node start);

}  // namespace lci::coll
