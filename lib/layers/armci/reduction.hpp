// How collective operations combine elements, by the names of ARMCI's interface.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace armci_layer {

struct combination {
  size_t size = 0;  ///< bytes of an element
  /// into[i] = into[i] op other[i]
  void (*combine)(void* into, const void* other, size_t n) = nullptr;
  /// Applied to the elements of each process first; null: nothing is.
  void (*prepare)(void* x, size_t n) = nullptr;
};

/// The operator with which the text begins; empty: none. Old programs pass text that is padded with blanks, or has no
/// end, as that of Fortran.
std::string_view operator_of(const char* op);
/// Empty if the type or the operator is unknown, or the type has no such operator.
std::optional<combination> find_combination(std::string_view op, int type);
/// Bytes of an element; 0 if the type is unknown.
size_t size_of_type(int type);
/// -1, 0, 1: as the element at `a` is smaller than, equal to or larger than that at `b`.
int compare(int type, const void* a, const void* b);

}  // namespace armci_layer
