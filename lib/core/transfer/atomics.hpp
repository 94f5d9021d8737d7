// Atomic operations, performed by a processor of the host that has the memory. All paths execute these
// instructions, here or in another process of that host, so they are atomic with respect to each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lci/attributes.hpp"

namespace lci::core {

constexpr bool is_integer(atomic_type_t type) { return type < atomic_type_t::float32; }
constexpr bool is_bitwise(atomic_op_t op) { return op >= atomic_op_t::bit_and; }

constexpr size_t size_of(atomic_type_t type) {
  return type == atomic_type_t::int64 || type == atomic_type_t::uint64 || type == atomic_type_t::float64 ? 8 : 4;
}

/// Returns whether both are valid, and the operation is defined for the type.
constexpr bool is_supported(atomic_op_t op, atomic_type_t type) {
  return op >= atomic_op_t::fetch && op <= atomic_op_t::bit_xor && type >= atomic_type_t::int32 &&
         type <= atomic_type_t::float64 && (is_integer(type) || !is_bitwise(op));
}

/// The bits of a value of `size` bytes.
inline uint64_t bits_of(const void* value, size_t size) {
  uint64_t bits = 0;
  std::memcpy(&bits, value, size);
  return bits;
}

/// Performs a supported operation on `at`, which must be aligned to the type's size. Returns the previous bits; 0 for
/// a store.
uint64_t apply_atomic(atomic_op_t op, atomic_type_t type, void* at, uint64_t operand, uint64_t compare);

}  // namespace lci::core
