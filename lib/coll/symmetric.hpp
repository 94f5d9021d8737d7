// Shared memory that all ranks have allocated together.
#pragma once

#include <vector>

#include "lci.hpp"
#include "lib/base/objects.hpp"

namespace lci::core {

/// Immutable once it has been handed out.
class symmetric : public object_memory<symmetric, true> {
 public:
  device_t device;
  mr_t mr;                       // this rank's part
  std::vector<rmr_t> rmrs;       // by rank
  std::vector<void*> addresses;  // by rank; null where it is on another host
};

}  // namespace lci::core
