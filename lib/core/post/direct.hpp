// Reads and writes remote memory that this process has mapped, in place. The most common posts do so in
// include/lci/direct.hpp already.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lib/base/copy_large.hpp"
#include "lib/core/device/argument_checks.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/device/net_context.hpp"

namespace lci::core {

/// Returns whether the post's rank and remote range are valid, and the memory may be mapped in this process.
template <class Args>
inline bool may_be_mapped(const device& d, const Args& a, size_t size) {
  return LCI_LIKELY(a.rmr.place() == d.shared_place &&
                    static_cast<unsigned>(a.rank) < static_cast<unsigned>(d.n_peers) && a.remote_disp <= a.rmr.size() &&
                    size <= a.rmr.size() - a.remote_disp);
}

/// The address of a post's remote memory in this process, if it is mapped and the arguments are valid. Otherwise null:
/// the general path then reports the error or uses the network.
template <class Args>
inline std::byte* mapped_target(const device& d, const Args& a, size_t size) {
  return may_be_mapped(d, a, size) && d.undisturbed() ? d.heap->reach(a.rank, a.rmr.base + a.remote_disp, size)
                                                      : nullptr;
}

/// Stores 4 and 8 bytes with one store, as other threads may read them meanwhile. Returns whether vectors were used.
inline bool copy_directly(void* to, const void* from, size_t size) {
  switch (size) {
    case 8:
      std::memcpy(to, from, 8);
      return false;
    case 4:
      std::memcpy(to, from, 4);
      return false;
    case 0:
      return false;
    default:
      return large_copy::copy(to, from, size);
  }
}

}  // namespace lci::core
