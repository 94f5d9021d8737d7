#include "lib/core/device/back_pressure.hpp"

#include <cstdint>

#include "lib/core/device/device.hpp"
#include "lib/core/device/progress_backoff.hpp"
#include "lib/core/operation/timers.hpp"

namespace lci::core {

namespace {

/// Makes progress until `over()` or the deadline, with pauses while nothing happens. Subtracts the time that it has
/// waited from `deadline`.
template <class F>
void make_progress_until(device& d, double& deadline, F over) {
  const int64_t latest = timers::after(deadline);
  const bool ends = latest != timers::never;
  int64_t left = latest;
  for (progress_backoff rounds(d); !over() && left > 0;) {
    rounds.next(left / 1000);
    if (ends) left = latest - timers::now();
  }
  if (ends) deadline = timers::seconds_until(latest);
}

}  // namespace

void await_backlog(device& d, int peer, double& deadline) {
  make_progress_until(d, deadline, [&] { return d.backlog.bytes_for(peer) <= d.attr.backlog_bytes; });
}

void await_end_of_pause(device& d, int peer, double& deadline) {
  make_progress_until(d, deadline, [&] { return !d.sends_pause(peer); });
}

}  // namespace lci::core
