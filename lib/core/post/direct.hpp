// Remote memory that this process has mapped is read and written in place. What is posted most never
// comes here: include/lci/direct.hpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "lib/core/device/argument_checks.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/device/net_context.hpp"

namespace lci::core {

/// Whether what a post says of remote memory is right, and that memory may be mapped here.
template <class Args>
inline bool may_be_mapped(const device& d, const Args& a, size_t size) {
  return LCI_LIKELY(a.rmr.place() == d.shared_place &&
                    static_cast<unsigned>(a.rank) < static_cast<unsigned>(d.n_peers) &&
                    a.remote_disp <= a.rmr.size() && size <= a.rmr.size() - a.remote_disp);
}

/// Where the remote memory that a post names is in this process, if it is there and the arguments are
/// good. If not, null: the general path finds out why, or goes through the network.
template <class Args>
inline std::byte* mapped_target(const device& d, const Args& a, size_t size) {
  return may_be_mapped(d, a, size) && d.undisturbed()
             ? d.heap->reach(a.rank, a.rmr.base + a.remote_disp, size)
             : nullptr;
}

/// What has the size of a machine word is stored once, whole: others may be looking.
inline void copy_directly(void* to, const void* from, size_t size) {
  switch (size) {
    case 8:
      std::memcpy(to, from, 8);
      return;
    case 4:
      std::memcpy(to, from, 4);
      return;
    case 0:
      return;
    default:
      std::memmove(to, from, size);
  }
}

}  // namespace lci::core
