// A registered range of local memory.
#pragma once

#include "lci/operations.hpp"
#include "lib/base/objects.hpp"
#include "network/fabric.hpp"

namespace lci::core {

/// Immutable once it has been handed out. Belongs to the device that it was registered with.
class memory_region : public object_memory<memory_region, false> {
 public:
  mr_attr_t attr;
  device_t device;
  uint64_t device_serial = 0;  // of the device: another may stand at its address one day
  void* base = nullptr;
  size_t size = 0;
  bool owns_memory = false;  // from alloc_shared()
  bool cached = false;       // `reg` is the cache's
  network::registration reg;
};

/// Whether the device that it was registered with is still there.
bool has_device(const memory_region& region);

/// MR_HOST, MR_DEVICE and MR_UNKNOWN are no registrations: small numbers instead of pointers.
inline bool is_registered(mr_t mr) { return !mr.is_empty(); }

}  // namespace lci::core
