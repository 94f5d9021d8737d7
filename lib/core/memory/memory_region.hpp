// A registered range of local memory.
#pragma once

#include "lci/operations.hpp"
#include "lib/base/objects.hpp"
#include "network/fabric.hpp"

namespace lci::core {

/// Immutable once register_memory() or alloc_shared() has returned it. Belongs to the device it was registered with.
class memory_region : public object_memory<memory_region, false> {
 public:
  mr_attr_t attr;
  device_t device;
  uint64_t device_serial = 0;  // identifies the device, as a later one may have its address
  void* base = nullptr;
  size_t size = 0;
  bool owns_memory = false;  // from alloc_shared()
  bool cached = false;       // `reg` belongs to the registration cache
  network::registration reg;
  bool abandoned = false;                            // device_regions::abandon()
  memory_region *before = nullptr, *next = nullptr;  // in device_regions
};

/// Returns whether the device it was registered with still exists.
bool has_device(const memory_region& region);

/// Returns false for MR_HOST, MR_DEVICE and MR_UNKNOWN, which are small numbers and not pointers.
inline bool is_registered(mr_t mr) { return !mr.is_empty(); }

}  // namespace lci::core
