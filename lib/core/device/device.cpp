#include "lib/core/device/device.hpp"

#include <algorithm>
#include <exception>
#include <iterator>

#include "lib/base/call_watch.hpp"
#include "lib/base/check.hpp"
#include "lib/base/log.hpp"
#include "lib/base/memory.hpp"
#include "lib/core/device/argument_checks.hpp"
#include "lib/core/device/barrier_rounds.hpp"
#include "lib/core/device/endpoint.hpp"
#include "lib/core/device/net_context.hpp"
#include "lib/core/observe/observed_network.hpp"
#include "lib/core/operation/ticket.hpp"
#include "lib/core/raw/raw_network.hpp"
#include "lib/core/runtime/forking.hpp"

namespace lci::core {

namespace {

/// Rendezvous needs room for its own messages even if the user wants no eager ones.
constexpr size_t smallest_message = sizeof(wire::header) + sizeof(wire::rtr_body);

uint64_t next_serial() {
  static std::atomic<uint64_t> last{0};
  return last.fetch_add(1, std::memory_order_relaxed) + 1;
}

packet_pool_attr_t reserve_attr(const packet_pool_attr_t& of, size_t n) {
  packet_pool_attr_t attr = of;
  attr.name = "reserve";
  attr.npackets = n;
  return attr;
}

}  // namespace

device::device(core::runtime& r, core::net_context& context, core::packet_pool& pool,
               const device_attr_t& a)
    : serial(next_serial()),
      rt(r),
      n_ranks(r.size()),
      heap(&context.heap),
      flushes(r.n_peers()),
      flow(*this, r.n_peers(), a.unexpected_bytes),
      barriers(std::make_unique<barrier_rounds>()),
      failures(r),
      attr(a),
      runtime(&r),
      net_context(&context),
      packet_pool(&pool) {
  LCI_ASSERT(reinterpret_cast<std::byte*>(static_cast<device_front*>(this)) ==
             reinterpret_cast<std::byte*>(this) + detail::device_front_offset);
  n_peers = r.n_peers();
  heaps = heap->windows();
  const size_t packet_payload = pool.payload_size();
  // Allocate first: once the network has made its device, the peers count on the device of this number. What can
  // only be allocated after that is tried several times.
  struct until_it_is_made {
    device& d;
    bool made = false;
    explicit until_it_is_made(device& what) : d(what) { list_for_forks(d); }
    ~until_it_is_made() {
      if (!made) d.leave_network();
    }
  } guard(*this);
  attr.uid = -1;
  pools_.reserve(2);
  if (attr.counters || rt.trace != nullptr) {
    observer = std::make_unique<device_observer>();
    if (attr.counters) {
      observer->counts = std::make_unique<counters>(n_peers);
      observer->times = std::make_shared<latencies>();
    }
    observer->trace = rt.trace.get();
  }
  net = context.net->create_device(attr, sizeof(wire::header) + packet_payload);
  if (observer != nullptr) {
    net = insist_on_memory([&] { return std::make_unique<observed_network>(std::move(net), *observer); });
    not_plain.fetch_or(is_observed, std::memory_order_relaxed);
  }
  limits = net->get_limits();
  registrations.open(*net);
  LCI_ASSERT(limits.max_send >= smallest_message);
  eager_limit = std::min(packet_payload, limits.max_send - sizeof(wire::header));
  const size_t wanted = rt.attr.rdv_threshold;
  if (wanted != 0 && wanted < eager_limit) eager_limit = std::max<size_t>(wanted, 64);
  inject_end = limits.max_inject < sizeof(wire::header)
                   ? 0
                   : std::min(eager_limit, limits.max_inject - sizeof(wire::header)) + 1;
  if (attr.use_reg_cache && limits.pins_memory) insist_on_memory([&] { open_cache(); });
  if (!pool.is_hollow()) insist_on_memory([&] { register_pool(pool); });
  if (pool.is_hollow() || limits.receive_buffers > 0 || limits.max_inject < sizeof(wire::header) + eager_limit) {
    reserve_ = insist_on_memory(
        [&] { return std::make_unique<core::packet_pool>(reserve_attr(pool.attr, reserve_size)); });
    insist_on_memory([&] { register_pool(*reserve_); });
  }
  if (limits.receive_buffers > 0) {
    packets_to_receive_ = pool.promise(limits.receive_buffers);
    receives_ = insist_on_memory([&] {
      return std::make_unique<receive_buffers>(
          std::min<size_t>(limits.receive_buffers, packets_to_receive_ + reserve_size / 2));
    });
  }
  attention.store(limits.receive_buffers > 0 ? 1 : 0, std::memory_order_relaxed);
  backlog.on_push = [](void* self) {
    auto* d = static_cast<device*>(self);
    d->bell.ring(*d->net);
  };
  backlog.on_push_argument = this;
  attr.uid = static_cast<int>(insist_on_memory([&] { return rt.devices.append(this); }));
  shared_place = rmr_t::place_of(attr.uid, true);
  if (observer != nullptr) observer->device = attr.uid;
  if (receives_ != nullptr) refill_receives();
  net->start();
  guard.made = true;
}

void device::close_direct_ways() {
  not_plain.fetch_or(forked, std::memory_order_relaxed);
  engine = no_engine;
  direct_end = 0;
}

void device::open_direct_ways() {
  if (watched_for(calls_are_checked)) {
    not_plain.fetch_or(calls_checked, std::memory_order_relaxed);
    return;
  }
  if (default_endpoint.is_empty()) return;
  const core::packet_pool& usual = *packet_pool.p_impl;  // as the general path has it
  packets = reinterpret_cast<uintptr_t>(usual.arena());
  packets_size = usual.arena_size();
  if (!rt.default_matching_engine.is_empty()) engine = rt.default_matching_engine.p_impl->id;
  direct_end = inject_end;
}

void device::note_unfinished(const unfinished& u) {
  if (unfinished_ != nullptr && u.comp != nullptr) insist_on_memory([&] { unfinished_->push_back(u); });
}

void device::leave_network() {
  unlist_for_forks(*this);
  if (attr.uid >= 0) rt.close_device(*this);
  pools_.clear();
  // What waits for a peer's answer keeps its buffer registered, which the network would miss.
  rt.operations.for_each_of(this, [&](operation* op, op_state) {
    if (op->registered) registrations.release(op->reg);
  });
  registrations.close();
  net.reset();
  delete raw_.load(std::memory_order_acquire);
  // From here on nobody reads or writes our packets.
  if (receives_ != nullptr) receives_->take_back();
  packet_pool.p_impl->take_back_promise(packets_to_receive_);
}

device::~device() {
  leave_network();
  // Operations that wait for a peer's answer will not get one.
  rt.operations.for_each_of(this, [&](operation* op, op_state state) {
    if (state == op_state::recv_posted) return;
    comp_impl_t* const waits = op->named ? ticket_of(op).retire() : op->comp;
    if (waits != nullptr && !op->ordered && !op->allocated && !dependents.contains(waits)) {
      op->status.error = errorcode_t::cancelled;
      note_unfinished({waits, op->status});
    }
    if (op->carrier != nullptr) op->carrier->pool->put(op->carrier);
    if (op->allocated) free_payload(op->status.buffer, op->allocator);
    if (op->ordered) delete op->comp;
    rt.operations.release(op);
  });
  for (comp_impl_t* c : dependents.take()) {
    auto* left_over = static_cast<dependent*>(c);
    note_unfinished(left_over->give_up());
    delete left_over;
  }
  rt.streams.forget(*this);
  rt.tickets.forget(this);
}

void device::open_cache() {
  std::shared_ptr<mapping_watch> watch;
  std::string why_not;
  const bool keeps = attr.reg_cache_bytes > 0 && attr.reg_cache_count > 0;
  if (keeps && !attr.reg_cache_trust) {
    watch = mapping_watch::get(why_not);
    if (watch == nullptr)
      log_warning("memory registrations are only shared, not kept: " + why_not +
                  "; LCI_ATTR_REG_CACHE_TRUST=1 keeps them if registered memory stays mapped");
  }
  registrations.use_cache(std::make_unique<registration_cache>(
      *net,
      registration_cache::limits{attr.reg_cache_bytes, attr.reg_cache_count, attr.reg_cache_trust},
      std::move(watch)));
}

bool device::drained() const {
  return backlog.empty() && pending.load(std::memory_order_acquire) == 0;
}

void device::register_pool(core::packet_pool& pool) {
  pools_.add(registrations.make_room_for(
      [&] { return pool_registration(pool, limits.local_registration ? net.get() : nullptr); }));
}

void device::deregister_pool(core::packet_pool& pool) {
  const bool own = &pool == packet_pool.p_impl;
  if (pools_.remove(pool, own ? 1 : 0)) return;
  if (own)
    throw_invalid("deregister_packet_pool", "packet_pool", "the device's own", "another pool",
                  "it is deregistered when the device is freed");
  throw_invalid("deregister_packet_pool", "packet_pool", pool.attr.name, "registered with the device");
}

uint64_t device::find_pool_lkey(const core::packet_pool& pool) const {
  uint64_t lkey;
  if (pools_.find_lkey(pool, lkey)) return lkey;
  throw_invalid("post", "packet_pool", pool.attr.name, "registered with the device",
                "call register_packet_pool(pool, device)");
}

// --- failures ---

void device::on_peer_failure(int peer, const char* reason) {
  // A program that has not communicated with the peer is not disturbed, but its posts to the peer are refused.
  if (!failures.add(peer, reason, net->has_met(peer))) return;
  not_plain.fetch_or(peer_failed, std::memory_order_relaxed);
  flow.forget(peer);
  rt.streams.lose(peer);
  end_operations(peer);
}

void device::on_peer_departure(int peer, network::departure how) {
  rt.external_peers->end(peer, how);
  if (how == network::departure::died) failures.add_external(peer);
  failures.forget(peer);
  flow.forget(peer);
  rt.streams.lose(peer);
  end_operations(peer);
}

void device::end_operations(int peer) {
  pending.fetch_sub(static_cast<int64_t>(receive_window.forget(peer).size()), std::memory_order_release);
  // All end, also if a handler throws.
  std::exception_ptr thrown =
      end_waiting(failure::fatal, [peer](const operation* op) { return op->status.rank == peer; });
  fail_receives(peer, thrown);
  end_queued(peer, thrown);
  if (thrown != nullptr) std::rethrow_exception(thrown);
}

void device::fail_receives(int peer, std::exception_ptr& thrown) {
  std::vector<operation*> lost;
  rt.for_each_engine([&](matching_engine& engine) {
    engine.remove_if(matching_entry_type_t::recv, [&](void* entry) {
      auto* op = static_cast<operation*>(entry);
      if (op->owner() != this || op->status.rank != peer) return false;
      lost.push_back(op);
      return true;
    });
  });
  if (!lost.empty()) failures.report_failure_of(peer);
  for (operation* op : lost) {
    pending.fetch_add(1, std::memory_order_relaxed);  // complete() takes it back
    op->status.size = 0;
    try {
      fail(op);
    } catch (...) {
      if (thrown == nullptr) thrown = std::current_exception();
    }
  }
}

void device::open(operation* op, awaited_packets awaited, bool stay) {
  const uint32_t handle = op->handle();
  const int peer = op->status.rank;
  op->gate.open(awaited, stay);
  // Either the thread that learns of the peer's end finds the gate open, or we learn of it here.
  if (LCI_LIKELY(!failures.may_be_any())) return;
  const failure how = failures.with(peer);
  if (how == failure::none) return;
  visit(handle, awaited, peer, [how](operation* late, uint8_t) {
    if (!late->gate.close()) return false;
    late->fail_as(how);
    return true;
  });
}

void device::leave(operation* op) {
  if (!op->gate.leave()) return;
  // Closed, and nobody else is inside: it is ours.
  if (op->doing() == op_state::writing && !op->has_failed()) {
    // The ack may come before the network says that the last piece is through: we stay meanwhile.
    if (op->acknowledged) open(op, awaits_acks, true);
    advance(op);
  } else {
    finish(op);
  }
}

void device::on_operation_failure(void* context, int peer) {
  auto* op = static_cast<operation*>(context);
  // The last piece ends the operation; on_complete() sees what happened to it.
  op->fail_as(failures.with(peer) == failure::cancelled ? failure::cancelled : failure::fatal);
  on_complete(op);
}

}  // namespace lci::core
