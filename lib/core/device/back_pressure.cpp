#include "lib/core/device/back_pressure.hpp"

#include <chrono>

#include "lib/core/device/device.hpp"
#include "lib/core/device/in_progress.hpp"

namespace lci::core {

namespace {

/// A rank that takes longer to make its device is not waited for: the message is queued.
constexpr auto longest_wait_for_device = std::chrono::seconds(1);

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

// A program may not make progress after the post: it may compute, or wait for other ranks in a collective allocation,
// while one of these waits for the message.
bool await_device_of(device& d, int peer) {
  if (tls_in_progress || !d.backlog.empty() || !d.net->awaits_device_of(peer)) return false;
  const auto end = std::chrono::steady_clock::now() + longest_wait_for_device;
  bool made = false;
  make_progress_until(d, [&] {
    made = !d.net->awaits_device_of(peer);
    return made || std::chrono::steady_clock::now() > end;
  });
  return made;
}

void await_end_of_pause(device& d, int peer) {
  make_progress_until(d, [&] { return !d.sends_pause(peer); });
}

}  // namespace lci::core
