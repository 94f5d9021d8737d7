// Threads that post make progress when too much waits in the backlog, or while a peer asks them to pause their sends.
#include "lib/core/device/device.hpp"

namespace lci::core {

namespace {

/// Until `over()`: progress, and sleep where nothing happens.
template <class F>
void make_progress_until(device& d, F over) {
  for (int idle = 0; !over();) {
    idle = d.progress() ? 0 : idle + 1;
    if (idle > 1000) d.net->wait(100);
  }
}

}  // namespace

void device::await_backlog(int peer) {
  make_progress_until(*this, [&] { return backlog.bytes_for(peer) <= attr.backlog_bytes; });
}

void device::await_end_of_pause(int peer) {
  make_progress_until(*this, [&] { return !sends_pause(peer); });
}

}  // namespace lci::core
