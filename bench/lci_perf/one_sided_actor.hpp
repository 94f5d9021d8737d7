// A thread that works on memory of another rank, or the part of its memory that one works on.
#pragma once

#include <cstdint>
#include <lci.hpp>

#include "bench/lci_perf/options.hpp"
#include "bench/lci_perf/page_buffer.hpp"

namespace lci_perf {

/// Thread-bound, but for its making, which all ranks do together.
struct actor {
  actor(lci::device_t on, size_t bytes, int my_rank, int peer_rank, bool collective);
  ~actor();
  actor(const actor&) = delete;
  actor& operator=(const actor&) = delete;

  const lci::device_t device;
  const int rank, peer;
  lci::symmetric_t memory;
  char* const mine;          ///< what others work on
  const lci::rmr_t target;   ///< of `peer`
  lci::comp_t local, ended;  ///< counter: operations that have ended; synchronizer: collectives
  int64_t posted = 0;        ///< what the counter will come to
  const page_buffer buffer, result;  ///< `result`: of collectives
};

/// Who does what in a check: a rank may post, be worked on by its peer, or both.
struct roles {
  bool works, worked_on;
};

/// How an operation is measured.
struct one_sided_kind {
  /// `count` times, at most `window` of them under way; 1: each complete before the next.
  void (*operate)(actor&, uint64_t count, size_t size, int64_t window);
  /// Ends the process if it does not do what it should. Called by all ranks, for one actor after
  /// the other. Null: collectives end together or not at all.
  void (*check)(actor&, size_t size, roles r);
  const char* what;
};
one_sided_kind one_sided_kind_of(op_kind op);

// The checks, each of an operation `once`.
using one_operation = void (*)(actor&, size_t size);
void check_put(actor& a, size_t size, roles r, one_operation once);
void check_get(actor& a, size_t size, roles r, one_operation once);
void check_block_put(actor& a, roles r, one_operation once);
void check_block_get(actor& a, roles r, one_operation once);
void check_atomic(actor& a, roles r, lci::atomic_op_t op);
void check_allreduce(actor& a, size_t size, one_operation once);

/// Posts an atomic operation on the peer's first word. It waits for the end if there is no `comp`.
__attribute__((always_inline)) inline lci::status_t post_one_atomic(actor& a, lci::atomic_op_t op,
                                                                    const uint64_t& operand,
                                                                    const uint64_t& compare,
                                                                    uint64_t& before,
                                                                    lci::comp_t comp) {
  if (op == lci::atomic_op_t::compare_swap) {
    return lci::post_atomic_x(a.peer, op, &operand, &before, comp, 0, a.target)
        .compare(&compare)
        .device(a.device)();
  }
  return lci::post_atomic_x(a.peer, op, &operand, &before, comp, 0, a.target).device(a.device)();
}

/// A strided block of a matrix of doubles, which is `block_bytes` long.
struct matrix_block {
  const size_t counts[2] = {block_rows * sizeof(double), block_rows};
  const size_t strides[1] = {matrix_rows * sizeof(double)};
  const lci::layout_t layout = lci::layout_t::strided(counts, strides, 1);
};

}  // namespace lci_perf
