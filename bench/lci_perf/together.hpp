// What all ranks do together.
#pragma once

#include <lci.hpp>

namespace lci_perf {

/// A barrier on one device of several. Whoever leaves it may turn to another device: others would
/// wait for ever for what has not gone out by then.
inline void meet_on(lci::device_t device) {
  lci::barrier_x().device(device)();
  lci::wait_drained_x().device(device)();
}

/// Memory of all ranks, which only `device` reaches.
inline lci::symmetric_t alloc_pages(size_t bytes, lci::device_t device) {
  const lci::symmetric_t memory = lci::alloc_symmetric_x(bytes).device(device).alignment(4096)();
  lci::wait_drained_x().device(device)();
  return memory;
}
inline void free_pages(lci::symmetric_t& memory, lci::device_t device) {
  lci::free_symmetric(&memory);
  lci::wait_drained_x().device(device)();
}

/// A reduction of doubles, for allreduce.
inline void larger(const void* left, const void* right, void* dst, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    const double l = static_cast<const double*>(left)[i], r = static_cast<const double*>(right)[i];
    static_cast<double*>(dst)[i] = l > r ? l : r;
  }
}

}  // namespace lci_perf
