// An endpoint: a handle of the public interface for the send resources of a device.
#pragma once

#include <atomic>

#include "lci/operations.hpp"
#include "lib/base/objects.hpp"

namespace lci::core {

/// Networks have send resources for each thread, so an endpoint has no state of its own. Owned by the program, or by
/// the device if that allocated it. Immutable.
class endpoint : public object_memory<endpoint, true> {
 public:
  explicit endpoint(device_t d, const endpoint_attr_t& a) : attr(a), device(d) {
    attr.uid = next_uid.fetch_add(1, std::memory_order_relaxed);
  }

  endpoint_attr_t attr;
  device_t device;

 private:
  static inline std::atomic<int> next_uid{0};
};

}  // namespace lci::core
