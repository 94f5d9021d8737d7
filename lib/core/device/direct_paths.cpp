#include "lib/core/device/direct_paths.hpp"

#include <algorithm>

#include "lib/base/call_watch.hpp"
#include "lib/core/device/device.hpp"

namespace lci::core {

void open_direct_paths(device& d) {
  if (watched_for(calls_are_checked)) {
    d.not_plain.fetch_or(device::calls_checked, std::memory_order_relaxed);
    return;
  }
  if (d.default_endpoint.is_empty()) return;
  const packet_pool& usual = *d.packet_pool.p_impl;  // as the general path has it
  d.packets = reinterpret_cast<uintptr_t>(usual.arena());
  d.packets_size = usual.arena_size();
  if (!d.rt.default_matching_engine.is_empty()) d.engine = d.rt.default_matching_engine.p_impl->id;
  // For larger messages than fit into a packet, the general path asks protocol_table whether to inject them.
  d.direct_end = std::min(d.inject_end, d.eager_limit + 1);
}

void close_direct_paths(device& d) {
  d.not_plain.fetch_or(device::forked, std::memory_order_relaxed);
  d.engine = device::no_engine;
  d.direct_end = 0;
}

}  // namespace lci::core
