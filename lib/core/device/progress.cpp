// The progress engine: what happens when something arrives or ends (paper 4.4).
#include <cstring>
#include <memory>
#include <new>

#include "lib/base/call_watch.hpp"
#include "lib/base/check.hpp"
#include "lib/base/memory.hpp"
#include "lib/base/objects.hpp"
#include "lib/core/checking/inspection.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/operation/ticket.hpp"

namespace lci::core {

constinit thread_local bool tls_in_progress = false;
constinit thread_local uint32_t tls_sends_in_a_row = 0;

namespace {

constexpr int poll_batch = 64;

}  // namespace

inline bool device::make_progress_inline() {
  const inside_progress mark;
  tls_sends_in_a_row = 0;
  // All rare, and asked for together, without a branch for each; most calls only poll.
  const unsigned waiting = static_cast<unsigned>(!backlog.empty()) |
                           static_cast<unsigned>(rt.deferred.count.load(std::memory_order_acquire) != 0) |
                           static_cast<unsigned>(attention.load(std::memory_order_relaxed) != 0);
  bool happened = false;
  if (LCI_UNLIKELY(waiting != 0)) happened = do_deferred_work();
  happened |= net->poll(*this, poll_batch) > 0;
  return happened;
}

bool device::make_progress() { return make_progress_inline(); }

bool device::progress_watched() {
  const call_inspection call("progress");
  if (!call.thorough()) return make_progress_inline();
  struct use {
    const device* of;
    explicit use(const device* d) : of(d) {
      if (!objects::enter(d))
        throw_invalid("progress", "device", "one that was freed, or is being freed by another thread",
                      "one that is alive", "let threads end before what they use is freed");
    }
    ~use() { objects::leave(of); }
  } const here(this);
  const bool happened = make_progress_inline();
  failures.report();
  return happened;
}

LCI_ALWAYS_INLINE inline bool device::progress_unwatched() {
  const bool happened = make_progress_inline();
  failures.report();
  return happened;
}

bool device::progress() {
  return calls_are_watched() ? progress_watched() : progress_unwatched();
}

bool device::do_deferred_work() {
  bool happened = false;
  if (!backlog.empty())
    happened |= backlog.drain([this](backlog::item& item) { return submit(item); });
  if (LCI_UNLIKELY(deadlines.left() <= 0)) happened |= end_what_is_due();
  if (LCI_UNLIKELY(flow.has_waiting())) happened |= flow.send_waiting();
  if (receive_window.has_requests()) happened |= start_waiting_requests();
  if (rt.deferred.count.load(std::memory_order_acquire) != 0) happened |= rt.deferred.run();
  if (limits.receive_buffers != 0) refill_receives();
  return happened;
}

error_t progress(progress_args& a) { return detail::progress_of(a.device.p_impl); }

namespace {

/// A signal whose turn comes when progress() is called next.
struct late_signal {
  device& of;
  comp_impl_t* comp;
  status_t status;

  static bool run(void* self) {
    const std::unique_ptr<late_signal> signal(static_cast<late_signal*>(self));
    struct ending {
      late_signal& of;
      ~ending() {
        of.of.pending.fetch_sub(1, std::memory_order_release);
        of.of.end_task();
      }
    } const at_end{*signal};
    signal->comp->signal(signal->status);
    return true;
  }
};

}  // namespace

void device::signal_from_post(comp_impl_t* comp, const status_t& status) {
  if (!may_post(comp->attr.comp_type)) return comp->signal(status);
  if (tls_in_progress) return signal_later(comp, status);
  const inside_progress mark;
  comp->signal(status);
}

void device::signal_later(comp_impl_t* comp, const status_t& status) {
  if (!may_post(comp->attr.comp_type)) return comp->signal(status);
  pending.fetch_add(1, std::memory_order_relaxed);
  begin_task();
  late_signal* const signal = insist_on_memory([&] { return new late_signal{*this, comp, status}; });
  insist_on_memory([&] { rt.deferred.push({late_signal::run, signal}); });
}

packet* device::packet_to_receive() {
  if (packet* p = packet_pool.p_impl->get()) return p;
  // Half of the reserve at most: the rest is for answers to what is received.
  if (reserved_receives_.fetch_add(1, std::memory_order_relaxed) < reserve_size / 2)
    if (packet* p = reserve_->get()) return p;
  reserved_receives_.fetch_sub(1, std::memory_order_relaxed);
  return nullptr;
}

void device::refill_receives() {
  while (receives_->reserve()) {
    packet* p = packet_to_receive();
    if (p == nullptr) return receives_->cancel();
    const network::segment buffer{
        &p->head, sizeof(wire::header) + packet_pool.p_impl->payload_size(), pool_lkey(*p->pool)};
    receives_->add(p);  // before the network has it: a message may come at once
    struct offered {  // the network may throw
      device& of;
      packet* p;
      bool taken = false;
      ~offered() {
        if (LCI_LIKELY(taken)) return;
        of.receives_->remove(p);
        if (of.is_reserved(p)) of.reserved_receives_.fetch_sub(1, std::memory_order_relaxed);
        p->pool->put(p);
      }
    } it{*this, p};
    it.taken = error_t(net->post_recv(buffer, p)).is_done();
    if (!it.taken) return;
  }
}

bool device::submit(backlog::item& item) {
  switch (item.what) {
    case backlog::item::type::taken:
      return true;
    case backlog::item::type::resume:
      return try_advance(item.resume);
    case backlog::item::type::op: {
      const errorcode_t result = net->post(item.op);
      if (error_t(result).is_retry()) return false;
      if (result == errorcode_t::fatal) {
        if (item.op.context != nullptr) on_operation_failure(item.op.context, item.peer);
      } else if (error_t(result).is_done() && item.op.context != nullptr) {
        on_complete(item.op.context);
      }
      return true;
    }
    case backlog::item::type::message: {
      if (operation* const op = item.completes;
          LCI_UNLIKELY(op != nullptr && op->named) && ticket_of(op).stop()) {
        op->fail_as(failure::cancelled);
        on_complete(op);
        return true;
      }
      network::net_op op;
      op.peer = item.peer;
      op.urgent = item.completes == nullptr;
      op.n_segments = 1;
      op.segments[0] = {item.message.data(), item.message.size(), 0};
      errorcode_t result;
      if (item.message.size() <= limits.max_inject &&
          (item.completes == nullptr || limits.sends_land_at_once)) {
        op.inject = true;
        result = net->post(op);
        if (error_t(result).is_done() && item.completes != nullptr) on_complete(item.completes);
      } else {
        packet* p = reserved_packet();
        if (p == nullptr) return false;
        std::memcpy(&p->head, item.message.data(), item.message.size());
        result = send_packet(item.peer, p, item.message.size() - sizeof(wire::header),
                             item.completes);
        if (!error_t(result).is_done()) p->pool->put(p);
      }
      // Of a message of the library's own: the network tells why the peer can't be reached, which ends what waits.
      if (result == errorcode_t::fatal && item.completes != nullptr) on_operation_failure(item.completes, item.peer);
      return !error_t(result).is_retry();
    }
  }
  return true;
}

}  // namespace lci::core

namespace {

/// Where calls are looked at, or inside a handler.
LCI_COLD lci::error_t progress_unusually(lci::core::device* d) {
  // A handler that calls progress() would recurse into whatever called the handler.
  if (lci::core::tls_in_progress) return lci::errorcode_t::retry;
  try {
    return d->progress() ? lci::errorcode_t::done : lci::errorcode_t::retry;
  } catch (const std::bad_alloc&) {
    lci::throw_no_memory("progress");
  }
}

}  // namespace

lci::error_t lci::detail::progress_of(core::device* d) {
  const uint8_t watched = call_watch.load(std::memory_order_relaxed);
  if (LCI_UNLIKELY((watched | static_cast<uint8_t>(core::tls_in_progress)) != 0))
    return progress_unusually(d);
  try {
    return d->progress_unwatched() ? errorcode_t::done : errorcode_t::retry;
  } catch (const std::bad_alloc&) {
    throw_no_memory("progress");
  }
}
