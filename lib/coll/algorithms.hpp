// Building blocks of several collective operations. Each adds nodes to a plan: it accesses the buffers only after
// `start` has completed, and has ended when the returned node completes. It uses steps from `step` to below
// `step + steps_of_part`.
#pragma once

#include "lib/coll/plan.hpp"

namespace lci::coll {

constexpr size_t steps_of_part = 1024;

/// Copies `size` bytes from the root to all ranks, along a binomial tree.
plan::node broadcast_tree(plan& p, void* buffer, size_t size, int root, size_t step, plan::node start);

/// Combines the items of all ranks, in the order of ranks, at the root. `recvbuf` is used only
/// there, and may be `sendbuf`.
plan::node reduce_tree(plan& p, const void* sendbuf, void* recvbuf, const reduction& r, int root, size_t step,
                       plan::node start);

/// Gives each rank its block of the root's buffer, along a binomial tree.
plan::node scatter_tree(plan& p, const void* sendbuf, void* recvbuf, size_t size, int root, size_t step,
                        plan::node start);

}  // namespace lci::coll
