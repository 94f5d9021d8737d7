// Links over datagrams: the device's endpoints, one for each network of the context.
#include <sys/epoll.h>

#include <algorithm>
#include <memory>

#include "network/tcp/outside/device.hpp"

namespace lci::network::outside {

void device::open_ports(const networks& all) {
  for (size_t n = n_ports_.load(std::memory_order_relaxed); n < all.size(); ++n) {
    ports_[n] = std::make_unique<stream_port>(all[n].open());
    // The descriptor only ends a sleep.
    if (const int fd = ports_[n]->wait_fd(); fd >= 0) (void)watch(events_.get(), fd, EPOLLIN, port_mark, true);
    n_ports_.store(n + 1, std::memory_order_release);  // R3: publishes the port
  }
}

int device::poll_ports(event_sink& sink) {
  int n_events = 0;
  const size_t n_ports = n_ports_.load(std::memory_order_acquire);  // A3: pairs with R3
  for (size_t i = 0; i < n_ports; ++i) {
    std::array<int, stream_port::most_ready> ready;
    const int n = ports_[i]->poll(&ready);
    for (int k = 0; k < n; ++k)
      if (slot* const s = slot_if_any(ready[static_cast<size_t>(k)]); s != nullptr)
        n_events += std::max(receive(*s, sink), 0);
  }
  return n_events;
}

bool device::advance_ports() {
  bool any = false;
  const size_t n_ports = n_ports_.load(std::memory_order_acquire);  // A3
  for (size_t i = 0; i < n_ports; ++i) {
    if (ports_[i]->poll(nullptr) > 0 && sleepers_.load(std::memory_order_seq_cst) != 0) wake_.set();
    any = ports_[i]->is_busy() || any;
  }
  return any;
}

}  // namespace lci::network::outside
