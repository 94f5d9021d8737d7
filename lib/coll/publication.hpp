// A collective publication of registered memory to all ranks.
#pragma once

#include <cstdint>

#include "lci.hpp"

namespace lci::core {

/// Immutable after publish_memory() has returned it.
class publication {
 public:
  device_t device;
  uint64_t number = 0;  // in the device's `published`
};

}  // namespace lci::core
