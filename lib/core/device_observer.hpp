// What looks on at a device: its counters, the runtime's trace, or both.
#pragma once

#include <cstdint>
#include <memory>

#include "lib/core/counters.hpp"
#include "lib/core/latencies.hpp"
#include "lib/core/trace_event.hpp"
#include "lib/core/tracer.hpp"

namespace lci::core {

/// Only devices that are looked at have one. Thread-safe.
struct device_observer {
  std::unique_ptr<counters> counts;  // null: not counted
  std::shared_ptr<latencies> times;  // with `counts`; also of receives that outlive the device
  tracer* trace = nullptr;           // of the runtime; null: not traced
  int device = -1;                   // its uid

  /// The clock, if it is for a trace.
  uint64_t now() const { return trace == nullptr ? 0 : tracer::now(); }
};

}  // namespace lci::core
