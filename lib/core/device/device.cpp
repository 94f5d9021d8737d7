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
      flow(r.n_peers(), a.unexpected_bytes),
      barriers(std::make_unique<barrier_rounds>()),
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
  look_at_peers_.store(rt.external_peers != nullptr, std::memory_order_relaxed);
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

void device::add_dependent(dependent* c) {
  std::lock_guard guard(dependents_lock_);
  dependents_.insert(c);
}

void device::remove_dependent(dependent* c) {
  std::lock_guard guard(dependents_lock_);
  dependents_.erase(c);
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
    if (op->registered) deregister_range(op->reg);
  });
  cache.reset();
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
    if (waits != nullptr && !op->ordered && !op->allocated && dependents_.count(waits) == 0) {
      op->status.error = errorcode_t::cancelled;
      note_unfinished({waits, op->status});
    }
    if (op->carrier != nullptr) op->carrier->pool->put(op->carrier);
    if (op->allocated) free_payload(op->status.buffer, op->allocator);
    if (op->ordered) delete op->comp;
    rt.operations.release(op);
  });
  for (comp_impl_t* c : std::exchange(dependents_, {})) {
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
  cache = std::make_unique<registration_cache>(
      *net,
      registration_cache::limits{attr.reg_cache_bytes, attr.reg_cache_count, attr.reg_cache_trust},
      std::move(watch));
}

bool device::drained() const {
  return backlog.empty() && pending.load(std::memory_order_acquire) == 0;
}

void device::register_pool(core::packet_pool& pool) {
  pool_registration made = make_room_for(
      [&] { return pool_registration(pool, limits.local_registration ? net.get() : nullptr); });
  std::lock_guard guard(pools_mutex_);
  pools_.push_back(std::move(made));
}

void device::deregister_pool(core::packet_pool& pool) {
  std::lock_guard guard(pools_mutex_);
  const auto is_it = [&](const pool_registration& p) { return p.is_of(pool); };
  // The first registration of the device's own pool is the device's, not the user's.
  const bool own = &pool == packet_pool.p_impl;
  const auto at = std::find_if(pools_.rbegin(), pools_.rend() - (own ? 1 : 0), is_it);
  if (own && at == pools_.rend() - 1)
    throw_invalid("deregister_packet_pool", "packet_pool", "the device's own", "another pool",
                  "it is deregistered when the device is freed");
  if (at == pools_.rend())
    throw_invalid("deregister_packet_pool", "packet_pool", pool.attr.name,
                  "registered with the device");
  pools_.erase(std::next(at).base());
}

uint64_t device::find_pool_lkey(const core::packet_pool& pool) const {
  std::lock_guard guard(pools_mutex_);
  for (const pool_registration& p : pools_)
    if (p.is_of(pool)) return p.lkey();
  throw_invalid("post", "packet_pool", pool.attr.name, "registered with the device",
                "call register_packet_pool(pool, device)");
}

// --- failures ---

void device::on_peer_failure(int peer, const char* reason) {
  const bool met = net->has_met(peer);
  {
    std::lock_guard guard(failure_mutex_);
    // Where messages go by two networks, both may notice.
    for (const peer_failure& known : failures_)
      if (known.peer == peer) return;
    // Who has nothing to do with the peer is not disturbed, but posts to it are refused.
    failures_.push_back({peer, "rank " + std::to_string(peer) + " has failed: " + reason, met});
  }
  any_failure_.store(true, std::memory_order_seq_cst);
  look_at_peers_.store(true, std::memory_order_seq_cst);  // see open()
  not_plain.fetch_or(peer_failed, std::memory_order_relaxed);
  if (met) unreported_failure_.store(true, std::memory_order_release);
  note_pauses(flow.forget(peer));
  rt.streams.lose(peer);
  end_operations(peer);
}

void device::on_peer_departure(int peer, network::departure how) {
  rt.external_peers->end(peer, how);
  if (how == network::departure::died) {
    std::lock_guard guard(failure_mutex_);
    failures_.push_back({peer,
                         "rank " + std::to_string(peer) +
                             ", a peer outside of the job, has failed: its process has ended "
                             "without a goodbye; disconnect() frees the id",
                         true});
    unreported_failure_.store(true, std::memory_order_release);
  }
  {
    std::lock_guard guard(failure_mutex_);
    refusals_.erase(peer);
    device_ends_.erase(peer);
  }
  note_pauses(flow.forget(peer));
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
  if (!lost.empty()) tell_failure(peer);
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
  if (LCI_LIKELY(!may_have_failed())) return;
  const failure how = failure_with(peer);
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
  op->fail_as(failure_with(peer) == failure::cancelled ? failure::cancelled : failure::fatal);
  on_complete(op);
}

bool device::has_failed(int peer) const {
  if (peer >= n_ranks) return !rt.external_peers->connected(peer);
  if (!any_failure_.load(std::memory_order_seq_cst)) return false;
  std::lock_guard guard(failure_mutex_);
  return std::any_of(failures_.begin(), failures_.end(),
                     [&](const peer_failure& failure) { return failure.peer == peer; });
}

void device::throw_if_failed(int peer) const {
  if (peer >= n_ranks) return rt.external_peers->check(peer);
  if (!any_failure_.load(std::memory_order_relaxed)) return;
  std::lock_guard guard(failure_mutex_);
  for (const peer_failure& failure : failures_)
    if (failure.peer == peer) throw peer_failure_error(peer, failure.what);
}

void device::tell_failure(int peer) {
  std::lock_guard guard(failure_mutex_);
  for (peer_failure& failure : failures_) {
    if (failure.peer != peer || failure.told) continue;
    failure.to_tell = true;
    unreported_failure_.store(true, std::memory_order_release);
  }
}

void device::note_refusal(int peer, const char* what) {
  log_warning(what);
  std::lock_guard guard(failure_mutex_);
  refusals_[peer] = what;
}

void device::throw_fatal(int peer) const {
  throw_if_failed(peer);
  std::lock_guard guard(failure_mutex_);
  const auto refusal = refusals_.find(peer);
  if (refusal != refusals_.end()) throw resource_error(refusal->second);
  throw_refused(peer);
}

void device::throw_why(const status_t& status) const {
  if (status.error.errorcode == errorcode_t::fatal) throw_fatal(status.rank);
  if (status.error.errorcode == errorcode_t::no_memory)
    throw resource_error("the message was not delivered to rank " + std::to_string(status.rank) +
                         ": there was no memory for it, there or here; post it again when there is");
}

void device::keep_exception(std::exception_ptr thrown) {
  constexpr size_t most = 64;  // of a program that never asks
  {
    std::lock_guard guard(failure_mutex_);
    if (kept_.size() >= most) return;
  }
  std::string what = "something that is no std::exception";
  try {
    std::rethrow_exception(thrown);
  } catch (const std::exception& e) {
    what = e.what();
  } catch (...) {
  }
  log_warning("thrown in a progress thread, and kept for the next progress(): " + what);
  std::lock_guard guard(failure_mutex_);
  kept_.push_back(std::move(thrown));  // it is the program's from now on, and its thread's to destroy
  unreported_failure_.store(true, std::memory_order_relaxed);
}

void device::throw_failure() {
  std::unique_lock guard(failure_mutex_);
  const auto next = [this] {
    return std::find_if(failures_.begin(), failures_.end(), [](const peer_failure& f) { return f.to_tell; });
  };
  const auto update = [&] {
    unreported_failure_.store(!kept_.empty() || next() != failures_.end(), std::memory_order_relaxed);
  };
  if (!kept_.empty()) {
    const std::exception_ptr kept = std::move(kept_.front());
    kept_.pop_front();
    update();
    guard.unlock();
    std::rethrow_exception(kept);
  }
  const auto at = next();
  if (at == failures_.end()) return;
  at->to_tell = false;
  at->told = true;
  const peer_failure failure = *at;
  // Of peers outside of the job nothing is kept here: many may come and die.
  if (failure.peer >= n_ranks) failures_.erase(at);
  update();
  guard.unlock();
  throw peer_failure_error(failure.peer, failure.what);
}

}  // namespace lci::core
