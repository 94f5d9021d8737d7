// A collective publication of registered memory to all ranks.
#pragma once

#include <cstdint>

#include "lci.hpp"

namespace lci::core {

/// The object behind a publication_t. Owned by the program, from publish_memory() to unpublish_memory(). Immutable, so
/// any thread may read it.
class publication {
 public:
  device_t device;
  uint64_t number = 0;  // in the device's `published`
};

}  // namespace lci::core
