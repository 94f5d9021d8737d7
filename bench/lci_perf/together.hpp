// Collective helpers.
#pragma once

#include <lci.hpp>

namespace lci_perf {

/// A barrier on one of several devices. Also drains the device: the caller may then poll another one only, and other
/// ranks would wait for ever for messages that have not been sent by then. Other threads' receives may wait there.
inline void meet_on(lci::device_t device) {
  lci::barrier_x().device(device)();
  lci::wait_drained_x().device(device).receives(false)();
}

/// Collective. Memory of all ranks that can be accessed through `device` only.
inline lci::symmetric_t alloc_pages(size_t bytes, lci::device_t device) {
  const lci::symmetric_t memory = lci::alloc_symmetric_x(bytes).device(device).alignment(4096)();
  lci::wait_drained_x().device(device).receives(false)();
  return memory;
}
inline void free_pages(lci::symmetric_t& memory, lci::device_t device) {
  lci::free_symmetric(&memory);
  lci::wait_drained_x().device(device).receives(false)();
}

/// The maximum of doubles, as a reduction for allreduce.
inline void larger(const void* left, const void* right, void* dst, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    const double l = static_cast<const double*>(left)[i], r = static_cast<const double*>(right)[i];
    static_cast<double*>(dst)[i] = l > r ? l : r;
  }
}

}  // namespace lci_perf
