// The largest of a number of all ranks.
#pragma once

#include <lci.hpp>

namespace lci_perf {

/// A reduction of doubles, for allreduce.
inline void larger(const void* left, const void* right, void* dst, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    const double l = static_cast<const double*>(left)[i], r = static_cast<const double*>(right)[i];
    static_cast<double*>(dst)[i] = l > r ? l : r;
  }
}

}  // namespace lci_perf
