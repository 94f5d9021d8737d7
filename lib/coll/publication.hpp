// Registered memory that ranks have made known to each other together.
#pragma once

#include <cstdint>

#include "lci.hpp"

namespace lci::core {

/// Immutable once it has been handed out.
class publication {
 public:
  device_t device;
  uint64_t number = 0;  // in the device's directory
};

}  // namespace lci::core
