// Shared memory that all ranks have allocated collectively.
#pragma once

#include <vector>

#include "lci.hpp"
#include "lib/base/objects.hpp"

namespace lci::core {

/// Immutable after alloc_symmetric() has returned it.
class symmetric : public object_memory<symmetric, true> {
 public:
  device_t device;
  mr_t mr;                       // this rank's part
  std::vector<rmr_t> rmrs;       // by rank
  std::vector<void*> addresses;  // by rank; null if not mapped, as for ranks of other hosts
};

}  // namespace lci::core
