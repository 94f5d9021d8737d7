#include "lib/core/device/raw_network.hpp"

#include <cstdint>
#include <memory>
#include <utility>

#include "lib/core/device/device.hpp"

namespace lci::core {

namespace {

matching_engine_attr_t engine_attr() {
  matching_engine_attr_t attr;
  attr.name = "raw messages";
  return attr;
}

}  // namespace

raw_network::raw_network(core::runtime& rt) : engine(engine_attr()), rt_(rt) {
  engine.runtime = &rt;
  engine.id = wire::raw_engine;
}

raw_network::~raw_network() { rt_.discard_entries(engine); }

void raw_network::report(net_opcode_t opcode, const status_t& status) {
  const errorcode_t code = status.error.errorcode;
  const bool from_peer = opcode == net_opcode_t::RECV || opcode == net_opcode_t::REMOTE_WRITE;
  const bool failed = !status.is_done() || code == errorcode_t::done_truncated;
  statuses_.push({.opcode = failed ? net_opcode_t::ERROR : opcode,
                  .rank = status.rank,
                  .user_context = status.user_context,
                  .length = status.is_done() ? status.size : 0,
                  .imm_data = from_peer ? static_cast<net_imm_data_t>(status.tag) : 0});
}

size_t raw_network::take(size_t max, net_status_t* out) {
  size_t n = 0;
  while (n < max && statuses_.pop(out[n])) ++n;
  return n;
}

void raw_network::keep(std::unique_ptr<comp_impl_t> comp) {
  std::lock_guard guard(kept_mutex_);
  comp_impl_t* const key = comp.get();
  kept_.emplace(key, std::move(comp));
}

void raw_network::drop(comp_impl_t* comp) {
  std::lock_guard guard(kept_mutex_);
  kept_.erase(comp);
}

bool raw_network::owns(const comp_impl_t* comp) {
  const auto offset = reinterpret_cast<uintptr_t>(comp) - reinterpret_cast<uintptr_t>(this);
  if (offset < sizeof(raw_network)) return true;
  std::lock_guard guard(kept_mutex_);
  return kept_.count(const_cast<comp_impl_t*>(comp)) != 0;
}

raw_network& raw_of(device& d) {
  raw_network* there = d.raw.load(std::memory_order_acquire);  // A1
  if (there != nullptr) return *there;
  auto made = std::make_unique<raw_network>(d.rt);
  // R1: pairs with A1. If several threads create one, the first wins.
  if (d.raw.compare_exchange_strong(there, made.get(), std::memory_order_acq_rel, std::memory_order_acquire))
    return *made.release();
  return *there;
}

}  // namespace lci::core
