// Combining numbers: for accumulates, atomically in memory that others use too, and for reductions.
#pragma once

#include <ccs.h>

#include <cstddef>
#include <cstdint>

#include "lci.hpp"

namespace ccs {

/// Size of a number; of a complex one both parts.
size_t size_of(CCS_number_t type);
/// What it must be aligned to for atomic access: the size of a part.
size_t alignment_of(CCS_number_t type);
/// Whether there are such an operation and type, and the one for the other; prints a text if not.
bool can_combine(const char* function, CCS_combine_t op, CCS_number_t type);

/// to[i] = to[i] op from[i] for the numbers in `bytes` bytes, each atomically. `to` is aligned.
void combine_into(CCS_combine_t op, CCS_number_t type, void* to, const void* from, size_t bytes);

/// For collectives of the core.
lci::reduce_op_t reduction_of(CCS_combine_t op, CCS_number_t type);

/// Multiplication by a factor; by default by 1.
struct scaling {
  CCS_number_t type = CCS_INT32;
  bool active = false;
  alignas(16) unsigned char factor[16] = {};

  void set(CCS_number_t number, const void* by);
  /// Multiplies the numbers in `bytes` bytes at any address.
  void apply(void* numbers, size_t bytes) const;
};

}  // namespace ccs
