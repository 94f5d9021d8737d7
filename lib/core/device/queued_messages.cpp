#include "lib/core/device/queued_messages.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <exception>

#include "lib/core/device/device.hpp"
#include "lib/core/device/in_progress.hpp"
#include "lib/core/runtime/forking.hpp"

namespace lci::core {

namespace {

/// Devices by their serial numbers, since they may have been freed meanwhile.
struct noted_devices {
  std::array<uint64_t, 8> serials;
  size_t n;
  bool any;  // there were more than fit, so every device counts as one of them

  bool contain(uint64_t serial) const {
    return any || std::find(serials.begin(), serials.begin() + n, serial) != serials.begin() + n;
  }
};
constinit thread_local noted_devices tls_queued_on{};

constexpr int rounds_in_a_row = 100;

void make_progress(device& d) noexcept {
  bool happened = true;
  for (int n = 0; n < rounds_in_a_row && happened && !d.backlog.empty(); ++n) {
    try {
      happened = d.make_progress();
    } catch (...) {
      d.failures.add_exception(std::current_exception());
    }
  }
}

}  // namespace

void note_queued(const device& d) noexcept {
  noted_devices& noted = tls_queued_on;
  if (noted.contain(d.serial)) return;
  noted.any = noted.n == noted.serials.size();
  if (!noted.any) noted.serials[noted.n++] = d.serial;
}

bool send_queued() noexcept {
  noted_devices& noted = tls_queued_on;
  if (tls_in_progress || (noted.n == 0 && !noted.any)) return false;
  bool any_left = false;
  uint64_t last = 0;
  while (device* const d = enter_next_device(last)) {
    last = d->serial;
    if (noted.contain(d->serial)) {
      make_progress(*d);
      any_left = any_left || !d->backlog.empty();
    }
    d->visitors.fetch_sub(1, std::memory_order_release);
  }
  if (!any_left) noted = {};
  return any_left;
}

}  // namespace lci::core
