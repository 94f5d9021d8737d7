// What a thread needs to access another rank's memory, and for its own memory to be accessed.
#pragma once

#include <cstdint>
#include <lci.hpp>

#include "bench/lci_perf/options.hpp"
#include "bench/lci_perf/page_buffer.hpp"

namespace lci_perf {

/// One thread's memory, buffers and completion objects, paired with those of the same thread at another rank. Which of
/// the two posts depends on the rank: see `roles`. Construction and destruction are collective; otherwise thread-bound.
struct actor {
  actor(lci::device_t on, size_t bytes, int my_rank, int peer_rank, bool collective, size_t offset);
  ~actor();
  actor(const actor&) = delete;
  actor& operator=(const actor&) = delete;

  const lci::device_t device;
  const int rank, peer;
  lci::symmetric_t memory;
  char* const mine;                  ///< memory that the peer accesses
  const lci::rmr_t target;           ///< the memory of `peer`
  lci::comp_t local, ended;          ///< a counter of operations that have ended; a synchronizer for collectives
  int64_t posted = 0;                ///< the counter's value once all operations have ended
  const page_buffer buffer, result;  ///< `result`: for collectives
};

/// A rank's roles: it may post, be the target of its peer's posts, or both.
struct roles {
  bool posts, is_target;
};

/// How an operation is measured.
struct one_sided_kind {
  /// Posts `count` operations with at most `window` outstanding; 1: each completes before the next is posted.
  void (*operate)(actor&, uint64_t count, size_t size, int64_t window);
  /// Ends the process if the operation moves wrong data. All ranks call it, for one actor after the other. Null for
  /// barriers, which move no data.
  void (*check)(actor&, size_t size, roles r);
  const char* what;
};
one_sided_kind one_sided_kind_of(op_kind op);

// The checks; each runs the operation `once`.
using one_operation = void (*)(actor&, size_t size);
void check_put(actor& a, size_t size, roles r, one_operation once);
void check_get(actor& a, size_t size, roles r, one_operation once);
void check_block_put(actor& a, roles r, one_operation once);
void check_block_get(actor& a, roles r, one_operation once);
void check_atomic(actor& a, roles r, lci::atomic_op_t op);
void check_allreduce(actor& a, size_t size, one_operation once);

/// Posts an atomic operation on the first word of the peer's memory. If `comp` is COMP_NULL, waits until it is
/// complete.
__attribute__((always_inline)) inline lci::status_t post_one_atomic(actor& a, lci::atomic_op_t op,
                                                                    const uint64_t& operand, const uint64_t& compare,
                                                                    uint64_t& before, lci::comp_t comp) {
  if (op == lci::atomic_op_t::compare_swap) {
    return lci::post_atomic_x(a.peer, op, &operand, &before, comp, 0, a.target).compare(&compare).device(a.device)();
  }
  return lci::post_atomic_x(a.peer, op, &operand, &before, comp, 0, a.target).device(a.device)();
}

/// A strided block of a matrix of doubles, with `block_bytes` bytes.
struct matrix_block {
  const size_t counts[2] = {block_rows * sizeof(double), block_rows};
  const size_t strides[1] = {matrix_rows * sizeof(double)};
  const lci::layout_t layout = lci::layout_t::strided(counts, strides, 1);
};

}  // namespace lci_perf
