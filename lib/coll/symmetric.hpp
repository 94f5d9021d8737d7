// The object behind a symmetric_t: memory of which each rank has allocated a part, collectively.
#pragma once

#include <cstdint>
#include <vector>

#include "lci.hpp"
#include "lib/base/objects.hpp"

namespace lci::core {

/// This rank's part of symmetric memory, and how this rank accesses the parts of the others. Owned by the program, from
/// alloc_symmetric() to free_symmetric(), which frees the part. Immutable, so any thread may read it.
class symmetric : public object_memory<symmetric, true> {
 public:
  device_t device;
  uint64_t device_serial = 0;    // identifies the device, as a later one may have its address
  mr_t mr;                       // registration of this rank's part
  std::vector<rmr_t> rmrs;       // by rank: the key of its part
  std::vector<void*> addresses;  // by rank: its part as mapped by this process; null if it is not, as on other hosts
};

}  // namespace lci::core
