// Arithmetic for accumulates, which is atomic since other threads and processes may access the memory, and for
// reductions.
#pragma once

#include <ccs.h>

#include <cstddef>
#include <cstdint>

#include "lci.hpp"

namespace ccs {

/// Bytes of a number. A complex number includes both parts.
size_t size_of(CCS_number_t type);
/// The alignment in bytes that atomic access needs; for complex numbers that of a part.
size_t alignment_of(CCS_number_t type);
/// Returns whether the operation and the type are valid, and the operation is defined for the type. Prints a line if
/// not.
bool can_combine(const char* function, CCS_combine_t op, CCS_number_t type);

/// to[i] = to[i] op from[i] for the numbers in `bytes` bytes, each atomically. `to` must be aligned.
void combine_into(CCS_combine_t op, CCS_number_t type, void* to, const void* from, size_t bytes);

/// The core's reduction operator for an operation and type.
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
