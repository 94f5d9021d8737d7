// The observer of a device: its counters, the runtime's trace, or both.
#pragma once

#include <cstdint>
#include <memory>

#include "lib/core/observe/counters.hpp"
#include "lib/core/observe/latencies.hpp"
#include "lib/core/observe/trace_event.hpp"
#include "lib/core/observe/tracer.hpp"

namespace lci::core {

/// What a device with counters or a trace reports to. Owned by the device. Thread-safe.
struct device_observer {
  std::unique_ptr<counters> counts;  // null: not counted
  std::shared_ptr<latencies> times;  // set with `counts`; shared with receives that outlive the device
  tracer* trace = nullptr;           // of the runtime; null: not traced
  int device = -1;                   // its uid

  /// The time if there is a trace, else 0.
  uint64_t now() const { return trace == nullptr ? 0 : tracer::now(); }
};

}  // namespace lci::core
