#include "lib/core/runtime/runtime.hpp"

#include <sys/sysinfo.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <thread>

#include "lib/base/call_watch.hpp"
#include "lib/base/check.hpp"
#include "lib/base/copy_large.hpp"
#include "lib/base/memory.hpp"
#include "lib/core/device/device_visit.hpp"
#include "lib/core/device/unexpected_messages.hpp"
#include "lib/core/match/matching_engine.hpp"
#include "lib/core/match/unexpected.hpp"
#include "lib/core/memory/packet_pool.hpp"
#include "lib/core/runtime/exchange.hpp"
#include "network/open.hpp"

namespace lci::core {

namespace {

/// Returns whether the host has less memory than `size` bytes, swap space included. A faulty peer may ask for any size.
bool exceeds_host(size_t size) {
  struct sysinfo host {};
  return sysinfo(&host) == 0 && size / host.mem_unit > host.totalram + host.totalswap;
}

constexpr int default_max_peers = 1024;  // of a runtime that is a job of its own

static_assert(static_cast<int>(copy_rule::measured) == static_cast<int>(attr_copy_way_t::auto_select) &&
              static_cast<int>(copy_rule::always_pieces) == static_cast<int>(attr_copy_way_t::pieces) &&
              static_cast<int>(copy_rule::always_vectors) == static_cast<int>(attr_copy_way_t::vectors));

}  // namespace

runtime::runtime(const runtime_attr_t& a, const net_context_attr_t& net_attr)
    : attr(a),
      no_packets(std::make_unique<packet_pool>(packet_pool::hollow{detail::default_packet_pool_attr().packet_size})) {
  const network::fabric& fabric = network::choose_fabric(net_attr);
  const auto own = attr.bootstrap == no_bootstrap ? fabric.own_lone_exchange : fabric.own_exchange;
  if (own != nullptr && attr.bootstrap != no_bootstrap) network::warn_of_separate_jobs(fabric.name);
  exchange_ = own != nullptr ? own(net_attr) : bootstrap_exchange({attr.bootstrap, attr.bootstrap_timeout});
  rank_ = exchange_->rank();
  size_ = exchange_->size();
  if (attr.max_peers < 0) attr.max_peers = attr.bootstrap == no_bootstrap ? default_max_peers : 0;
  if (attr.max_peers > 0)
    external_peers = std::make_unique<core::external_peers>(*this, size_, attr.max_peers, attr.accept_external_peers);
  large_copy::set_rule(static_cast<copy_rule>(attr.copy_way));
  attr.max_tag = max_tag;
  attr.max_imm_tag = (uint64_t{1} << attr.imm_nbits_tag) - 1;
  attr.max_imm_rcomp = (uint64_t{1} << attr.imm_nbits_rcomp) - 1;
  attr.max_rcomp = std::numeric_limits<rcomp_t>::max();  // with its generation a handle may have any value
  deferred.on_push = progress_bells::ring_all;
  deferred.on_push_argument = &bells;
  if (attr.progress_thread != progress_mode_t::none) {
    progress_thread_attr_t wanted = alloc_progress_thread_x().args().attr;
    wanted.progress_mode = attr.progress_thread;
    service = std::make_unique<core::progress_thread>(wanted);
  }
  if (attr.check) {
    call_watch.fetch_or(calls_are_checked, std::memory_order_relaxed);
    collectives = std::make_unique<collective_check>(*this);
  }
  if (!attr.trace.empty()) trace = std::make_unique<tracer>(attr.trace, rank_, attr.trace_events);
}

runtime::~runtime() = default;

void runtime::raise_malloc_threshold() {
  if (malloc_threshold_is_raised_.exchange(true, std::memory_order_relaxed)) return;
  if (attr.malloc_mmap_threshold > 0) keep_freed_blocks(attr.malloc_mmap_threshold);
}

void* runtime::allocate_late(size_t size, allocator_base_t* of_handle) {
  if (of_handle != nullptr || allocator() != nullptr) return nullptr;  // the program decides
  if (exceeds_host(size)) return nullptr;
  void* memory = nullptr;
  for (int n = 1; memory == nullptr && n < memory_tries; ++n) {
    await_memory();
    memory = std::malloc(size);
  }
  return memory;
}

void runtime::discard_entries(matching_engine& engine) {
  engine.drain([this](void* entry, matching_entry_type_t type) {
    if (type == matching_entry_type_t::recv) {
      auto* op = static_cast<operation*>(entry);
      if (op->named) ticket_of(op).retire();
      operations.release(op);
    } else {
      auto* u = static_cast<unexpected*>(entry);
      const device_visit via(*this, u->device_uid);
      if (via.get() != nullptr) answer_discarded(*via.get(), *u);
      free_unexpected(via.get(), u);
    }
  });
}

device* runtime::enter_device(int uid) {
  std::lock_guard guard(visits_lock_);
  device* d = devices.get(static_cast<size_t>(uid));
  if (d != nullptr) d->visitors.fetch_add(1, std::memory_order_relaxed);
  return d;
}

void runtime::close_device(device& d) {
  {
    std::lock_guard guard(visits_lock_);
    devices.put(static_cast<size_t>(d.attr.uid), nullptr);
  }
  // A visit lasts a few posts. Acquire: what visitors did happens before the device is destroyed.
  while (d.visitors.load(std::memory_order_acquire) != 0) std::this_thread::yield();
}

void runtime::add_pool(packet_pool* pool) {
  std::lock_guard guard(pools_mutex_);
  pools_.push_back(pool);
}

void runtime::remove_pool(packet_pool* pool) {
  std::lock_guard guard(pools_mutex_);
  pools_.erase(std::find(pools_.begin(), pools_.end(), pool));
}

packet_pool* runtime::pool_of(const void* p) {
  std::lock_guard guard(pools_mutex_);
  for (packet_pool* pool : pools_)
    if (pool->owns(p)) return pool;
  return nullptr;
}

}  // namespace lci::core
