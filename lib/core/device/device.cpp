#include "lib/core/device/device.hpp"

#include <algorithm>
#include <utility>

#include "lib/base/check.hpp"
#include "lib/base/log.hpp"
#include "lib/base/memory.hpp"
#include "lib/core/device/barrier_rounds.hpp"
#include "lib/core/device/net_context.hpp"
#include "lib/core/device/queued_messages.hpp"
#include "lib/core/device/raw_network.hpp"
#include "lib/core/observe/observed_network.hpp"
#include "lib/core/operation/ticket.hpp"
#include "lib/core/runtime/forking.hpp"
#include "lib/core/transfer/transfers.hpp"

namespace lci::core {

namespace {

/// Rendezvous needs room for its own messages even if the user wants no eager ones.
constexpr size_t smallest_message = sizeof(wire::header) + sizeof(wire::rtr_body);

uint64_t next_serial() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

LCI_COLD void open_cache(device& d) {
  std::shared_ptr<mapping_watch> watch;
  std::string why_not;
  const bool keeps = d.attr.reg_cache_bytes > 0 && d.attr.reg_cache_count > 0;
  if (keeps && !d.attr.reg_cache_trust) {
    watch = mapping_watch::get(why_not);
    if (watch == nullptr)
      log_warning("memory registrations are only shared, not kept: " + why_not +
                  "; LCI_ATTR_REG_CACHE_TRUST=1 keeps them if registered memory stays mapped");
  }
  d.registrations.use_cache(std::make_unique<registration_cache>(
      *d.net, registration_cache::limits{d.attr.reg_cache_bytes, d.attr.reg_cache_count, d.attr.reg_cache_trust},
      std::move(watch)));
}

/// The observer of a device with counters, or of a runtime with a trace; null for other devices.
std::unique_ptr<device_observer> make_observer(const device& d) {
  if (!d.attr.counters && d.rt.trace == nullptr) return nullptr;
  auto observer = std::make_unique<device_observer>();
  if (d.attr.counters) {
    observer->counts = std::make_unique<counters>(d.n_peers);
    observer->times = std::make_shared<latencies>();
  }
  observer->trace = d.rt.trace.get();
  return observer;
}

/// Sets the largest sizes of eager messages and of injected ones, from the limits of the network and the attributes of
/// the runtime. The caller has stored the limits in `d.limits`.
void set_message_sizes(device& d, size_t packet_payload) {
  const size_t head = sizeof(wire::header);
  const bool can_inject = d.limits.max_inject >= head;
  d.eager_limit = std::min(packet_payload, d.limits.max_send - head);
  size_t largest_injected = can_inject ? d.limits.max_inject - head : 0;
  if (d.rt.attr.rdv_threshold != 0) {
    const size_t wanted = std::max<size_t>(d.rt.attr.rdv_threshold, 64);
    d.eager_limit = std::min(d.eager_limit, wanted);
    largest_injected = std::min(largest_injected, wanted);
  } else if (d.rt.attr.rdv_protocol == attr_rdv_protocol_t::auto_select) {
    d.protocols.begin_at(d.eager_limit + 1, largest_injected);
  }
  d.inject_end = can_inject ? largest_injected + 1 : 0;
}

}  // namespace

device::device(core::runtime& r, core::net_context& context, core::packet_pool& pool, const device_attr_t& a)
    : serial(next_serial()),
      rt(r),
      n_ranks(r.size()),
      heap(&context.heap),
      flushes(r.n_peers()),
      flow(*this, r.n_peers(), a.unexpected_bytes),
      barriers(std::make_unique<barrier_rounds>()),
      failures(r),
      supply(pool, registrations),
      collective_numbers(std::make_shared<core::collective_numbers>(r.deferred)),
      attr(a),
      runtime(&r),
      net_context(&context),
      packet_pool(&pool) {
  LCI_ASSERT(reinterpret_cast<std::byte*>(static_cast<device_front*>(this)) ==
             reinterpret_cast<std::byte*>(this) + detail::device_front_offset);
  n_peers = r.n_peers();
  heaps = heap->windows();
  const size_t packet_payload = pool.payload_size();
  // Memory is allocated first: once the network has made its device, the peers expect the device of this number. What
  // can only be allocated after that is tried several times.
  struct closes_if_not_made {
    device& d;
    bool made = false;
    explicit closes_if_not_made(device& what) : d(what) { list_for_forks(d); }
    ~closes_if_not_made() {
      if (!made) d.leave_network();
    }
  } guard(*this);
  attr.uid = -1;
  observer = make_observer(*this);
  net = context.net->create_device(attr, sizeof(wire::header) + packet_payload);
  if (observer != nullptr) {
    net = insist_on_memory([&] { return std::make_unique<observed_network>(std::move(net), *observer); });
    not_plain.fetch_or(is_observed, std::memory_order_relaxed);
  }
  limits = net->get_limits();
  registrations.open(*net);
  LCI_ASSERT(limits.max_send >= smallest_message);
  set_message_sizes(*this, packet_payload);
  if (attr.use_reg_cache && limits.pins_memory) insist_on_memory([&] { open_cache(*this); });
  supply.open(*net, limits, eager_limit);
  attention.store(limits.receive_buffers > 0 ? 1 : 0, std::memory_order_relaxed);
  backlog.on_push = [](void* self) {
    auto* d = static_cast<device*>(self);
    note_queued(*d);
    d->bell.ring(*d->net);
  };
  backlog.on_push_argument = this;
  attr.uid = static_cast<int>(insist_on_memory([&] { return rt.devices.append(this); }));
  shared_place = rmr_t::place_of(attr.uid, true);
  if (observer != nullptr) observer->device = attr.uid;
  if (limits.receive_buffers > 0) supply.refill(*net);
  net->start();
  guard.made = true;
}

void device::leave_network() {
  unlist_for_forks(*this);
  if (attr.uid >= 0) rt.close_device(*this);
  supply.deregister_all();
  // Operations that wait for a peer's answer have their buffers registered; the network requires all registrations to
  // end before its device.
  rt.operations.for_each_of(this, [&](operation* op, op_state) {
    if (op->registered) registrations.release(op->reg);
  });
  regions.end_all([&](const memory_region& region) {
    region.cached ? registrations.release(region.reg) : net->deregister_memory(region.reg);
  });
  registrations.close();
  net.reset();
  regions.free_abandoned(*heap);
  // From here on the network accesses no packets.
  supply.take_back();
}

device::~device() {
  leave_network();
  const std::unique_ptr<raw_network> of_raw(raw.load(std::memory_order_acquire));
  // The operations that still wait for a peer's answer end without it.
  rt.operations.for_each_of(this, [&](operation* op, op_state state) {
    if (state == op_state::recv_posted || state == op_state::plain_recv) return op->leave(this);
    if (op->allocates) {
      if (op->status.buffer != nullptr) rt.deallocate(op->status.buffer, nullptr);
      op->status.buffer = nullptr;
      op->status.size = 0;
    }
    if (op->copied) free_payload(*this, std::exchange(op->status.buffer, ticket_of(op).buffer()), op->allocator);
    comp_impl_t* const waits = op->named ? ticket_of(op).retire() : op->comp;
    // Objects of raw operations end with the device, as do the statuses that they would queue.
    const bool ends_too = dependents.contains(waits) || (of_raw != nullptr && of_raw->owns(waits));
    if (waits != nullptr && !op->ordered && !op->allocated && !ends_too) {
      op->status.error = errorcode_t::cancelled;
      lifetime.note({waits, op->status});
    }
    if (packet* const p = op->carried()) p->pool->put(p);
    if (op->allocated && op->status.buffer != nullptr) free_payload(*this, op->status.buffer, op->allocator);
    if (op->ordered) delete op->comp;
    rt.operations.release(op);
  });
  for (comp_impl_t* c : dependents.take()) {
    auto* remaining = static_cast<dependent*>(c);
    lifetime.note(remaining->abandon());
    delete remaining;
  }
  for (unfinished u; (u = collective_numbers->take_waiting()).comp != nullptr;) lifetime.note(u);
  (void)rt.streams.take_held(*this);
  rt.tickets.forget(this);
}

}  // namespace lci::core
