// An endpoint: a name for one way into a device.
#pragma once

#include "lci/operations.hpp"
#include "lib/base/objects.hpp"

namespace lci::core {

/// Fabrics keep their send resources apart by thread, so an endpoint has no state of its own.
class endpoint : public object_memory<endpoint, true> {
 public:
  explicit endpoint(device_t d, const endpoint_attr_t& a) : attr(a), device(d) {}

  endpoint_attr_t attr;
  device_t device;
};

}  // namespace lci::core
