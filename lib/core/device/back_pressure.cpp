#include "lib/core/device/back_pressure.hpp"

#include "lib/core/device/device.hpp"

namespace lci::core {

namespace {

/// Makes progress until `over()`, and sleeps in the network while nothing happens.
template <class F>
void make_progress_until(device& d, F over) {
  for (int idle = 0; !over();) {
    idle = d.progress() ? 0 : idle + 1;
    if (idle > 1000) d.net->wait(100);
  }
}

}  // namespace

void await_backlog(device& d, int peer) {
  make_progress_until(d, [&] { return d.backlog.bytes_for(peer) <= d.attr.backlog_bytes; });
}

void await_end_of_pause(device& d, int peer) {
  make_progress_until(d, [&] { return !d.sends_pause(peer); });
}

}  // namespace lci::core
