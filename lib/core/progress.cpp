// The progress engine: what happens when something arrives or ends (paper 4.4).
#include <cstring>
#include <memory>

#include "lib/base/check.hpp"
#include "lib/base/race_detector.hpp"
#include "lib/core/device.hpp"
#include "lib/core/fill_receive.hpp"
#include "lib/core/make_status.hpp"
#include "lib/core/ticket.hpp"

namespace lci::core {

constinit thread_local bool tls_in_progress = false;

namespace {

constexpr int poll_batch = 64;

}  // namespace

inline bool device::make_progress_inline() {
  const inside_progress mark;
  // All rare, and asked for together; most calls only poll.
  bool happened = false;
  if (LCI_UNLIKELY(!backlog.empty() | (rt.deferred.count.load(std::memory_order_acquire) != 0) |
                   (attention.load(std::memory_order_relaxed) != 0)))
    happened = do_deferred_work();
  happened |= net->poll(*this, poll_batch) > 0;
  return happened;
}

bool device::make_progress() { return make_progress_inline(); }

bool device::progress() {
  const bool happened = make_progress_inline();
  report();
  return happened;
}

bool device::do_deferred_work() {
  bool happened = false;
  if (!backlog.empty())
    happened |= backlog.drain([this](backlog::item& item) { return submit(item); });
  if (LCI_UNLIKELY(deadlines.left() <= 0)) happened |= end_what_is_due();
  if (rt.deferred.count.load(std::memory_order_acquire) != 0) happened |= rt.deferred.run();
  if (limits.receive_buffers != 0) refill_receives();
  return happened;
}

error_t progress(progress_args& a) { return detail::progress_of(a.device.p_impl); }

namespace {

/// Returns the packet that a message came in unless it was handed on, also when a handler throws.
struct packet_return {
  void*& context;
  ~packet_return() {
    if (LCI_UNLIKELY(context != nullptr))
      static_cast<packet*>(context)->pool->put(static_cast<packet*>(context));
  }
};

}  // namespace

namespace {

inline status_t arrived(int peer, const void* buffer, size_t size, tag_t tag) {
  return make_status(errorcode_t::done, peer, buffer, size, tag, nullptr);
}

}  // namespace

void device::receive_signal(int peer, network::message_head head, const std::byte* data,
                            size_t size) {
  wire::signal_body body;
  comp_impl_t* comp = rt.rcomps.lookup(wire::word_of(head));
  if (LCI_UNLIKELY(comp == nullptr)) comp = unlisted_comp(wire::word_of(head));
  if (LCI_UNLIKELY(size < sizeof body || comp == nullptr)) return reject();
  std::memcpy(&body, data, sizeof body);
  comes_back(&rt);  // what this is the signal of: data that came in messages, acknowledged since
  comp->signal(arrived(peer, reinterpret_cast<void*>(body.addr), body.size, wire::tag_of(head)));
}

void device::on_recv(int peer, const std::byte* data, size_t size, void* recv_context) {
  // The commonest messages, read where they lie, on the shortest way; nothing to clean up behind.
  if (LCI_LIKELY(size >= sizeof(wire::header) && recv_context == nullptr)) {
    network::message_head head;
    std::memcpy(&head, data, sizeof head);
    if (LCI_LIKELY(wire::is_am(head))) {
      comp_impl_t* comp = rt.rcomps.lookup(wire::word_of(head));
      if (LCI_LIKELY(comp != nullptr)) {
        data += sizeof head;
        size -= sizeof head;
        if (comp->attr.am_in_place)
          comp->signal(arrived(peer, data, size, wire::tag_of(head)));
        else
          deliver_copy(comp, peer, wire::tag_of(head), data, size);
        return;
      }
    } else if (LCI_LIKELY(wire::is_send(head))) {
      return receive_send(peer, head, data + sizeof head, size - sizeof head);
    } else if (LCI_LIKELY(wire::is_signal(head))) {
      return receive_signal(peer, head, data + sizeof head, size - sizeof head);
    }
  }
  receive(peer, data, size, recv_context);
}

void device::receive(int peer, const std::byte* data, size_t size, void* recv_context) {
  if (LCI_UNLIKELY(recv_context != nullptr)) {
    auto* p = static_cast<packet*>(recv_context);
    receives_->remove(p);
    if (is_reserved(p)) reserved_receives_.fetch_sub(1, std::memory_order_relaxed);
  }
  const packet_return guard{recv_context};
  wire::message m;
  if (LCI_UNLIKELY(!wire::decode(data, size, m) || !dispatch(peer, m, recv_context)))
    reject();
}

bool device::dispatch(int peer, wire::message& m, void*& recv_context) {
  switch (m.head.what) {
    case wire::kind::am:
      return receive_am(peer, m, recv_context);
    case wire::kind::send:
      receive_send(peer, wire::pack(m.head), m.data, m.size);
      return true;
    case wire::kind::rts_am:
    case wire::kind::rts_send:
      return receive_rts(peer, m);
    case wire::kind::rtr:
      return receive_rtr(peer, m);
    case wire::kind::fin:
      return receive_fin(peer, m);
    case wire::kind::fragment:
      return receive_fragment(peer, m);
    case wire::kind::signal:
      receive_signal(peer, wire::pack(m.head), m.data, m.size);
      return true;
    case wire::kind::put_data:
      return receive_put(peer, m);
    case wire::kind::ack:
      return receive_ack(peer, m);
    case wire::kind::am_acked:
    case wire::kind::send_acked:
      return receive_acked(peer, m);
    case wire::kind::get_request:
      return receive_get(peer, m);
    case wire::kind::atomic_request:
      return receive_atomic(peer, m);
    case wire::kind::atomic_reply:
      return receive_atomic_reply(peer, m);
    case wire::kind::am_ordered:
      return receive_ordered(peer, m);
    case wire::kind::rts_ordered:
      return receive_ordered_rts(peer, m);
    case wire::kind::stream_credit:
      return receive_credit(peer, m);
    case wire::kind::withdraw:
      return receive_withdrawal(peer, m);
    case wire::kind::none:
      break;
  }
  return false;
}

bool device::receive_am(int peer, const wire::message& m, void*& recv_context) {
  comp_impl_t* comp = rt.rcomps.lookup(m.head.word);
  if (LCI_UNLIKELY(comp == nullptr) && (comp = unlisted_comp(m.head.word)) == nullptr) return false;
  // The program may keep packets for ever: those of the reserve it does not get.
  const bool packet_goes_on = comp->attr.zero_copy_am && recv_context != nullptr &&
                              !is_reserved(static_cast<packet*>(recv_context));
  if (!comp->attr.am_in_place && !packet_goes_on) {
    deliver_copy(comp, peer, m.head.tag, m.data, m.size);
    return true;
  }
  if (packet_goes_on) recv_context = nullptr;  // it changes hands
  comp->signal(arrived(peer, m.data, m.size, m.head.tag));
  return true;
}

void device::deliver_copy(comp_impl_t* comp, int peer, tag_t tag, const std::byte* data,
                          size_t size) {
  void* buffer = nullptr;
  if (size > 0) {
    // The sender's packets may be larger than ours.
    const bool fits = size <= packet_pool.p_impl->payload_size();
    packet* p = comp->attr.zero_copy_am && fits ? packet_pool.p_impl->get() : nullptr;
    buffer = p != nullptr ? p->payload() : rt.allocate(size);
    if (LCI_UNLIKELY(buffer == nullptr)) throw std::bad_alloc();
    std::memcpy(buffer, data, size);
  }
  comp->signal(arrived(peer, buffer, size, tag));
}

void device::receive_send(int peer, network::message_head head, const std::byte* data,
                          size_t size) {
  matching_engine* engine = rt.engines.get(wire::engine_of(head));
  if (LCI_UNLIKELY(engine == nullptr) &&
      (engine = unlisted_engine(wire::engine_of(head))) == nullptr)
    return reject();
  const tag_t tag = wire::tag_of(head);
  const uint64_t key = engine->make_key(peer, tag, wire::policy_of(head));
  // Most messages find their receive. To file the message its copy must exist beforehand, so ask
  // for a receive first.
  void* match = engine->take(key, matching_entry_type_t::recv);
  if (LCI_UNLIKELY(match == nullptr)) {
    match = file_unexpected(*engine, key, peer, tag, data, size);
    if (match == nullptr) return;
  }
  auto* op = static_cast<operation*>(match);
  const status_t status = fill_receive(*op, peer, tag, data, size);
  comp_impl_t* comp = op->comp;
  rt.operations.release(op);
  if (comp != nullptr) comp->signal(status);
}

void* device::file_unexpected(matching_engine& engine, uint64_t key, int peer, tag_t tag,
                              const std::byte* data, size_t size, uint64_t ack) {
  void* memory = std::malloc(sizeof(unexpected) + size);
  if (memory == nullptr) throw std::bad_alloc();
  auto* u = new (memory) unexpected{peer, tag, size, false, attr.uid, {0, 0, 0, ack}};
  if (size > 0) std::memcpy(u->payload(), data, size);
  void* match = engine.insert(key, u, matching_entry_type_t::send);
  if (match != nullptr) std::free(u);
  return match;
}

bool device::receive_acked(int peer, wire::message& m) {
  wire::ack_body body;
  if (!wire::take_body(m, body)) return false;
  bool delivered = false;
  // Also if a handler throws: the message has been delivered to it.
  struct answer {
    device& by;
    int peer;
    uint64_t operation;
    const bool& delivered;
    ~answer() {
      if (delivered) by.send_ack(peer, operation);
    }
  } const answer{*this, peer, body.operation, delivered};
  if (m.head.what == wire::kind::am_acked) {
    comp_impl_t* comp = rt.rcomps.lookup(m.head.word);
    if (comp == nullptr) return send_ack(peer, body.operation, wire::refused), false;
    delivered = true;
    if (comp->attr.am_in_place)
      comp->signal(arrived(peer, m.data, m.size, m.head.tag));
    else
      deliver_copy(comp, peer, m.head.tag, m.data, m.size);
    return true;
  }
  matching_engine* engine = rt.engines.get(m.head.engine);
  if (engine == nullptr) return send_ack(peer, body.operation, wire::refused), false;
  const uint64_t key =
      engine->make_key(peer, m.head.tag, static_cast<matching_policy_t>(m.head.policy));
  void* match = engine->take(key, matching_entry_type_t::recv);
  if (match == nullptr)
    match = file_unexpected(*engine, key, peer, m.head.tag, m.data, m.size, body.operation);
  if (match == nullptr) return true;  // whoever posts the receive sends the ack
  auto* op = static_cast<operation*>(match);
  const status_t status = fill_receive(*op, peer, m.head.tag, m.data, m.size);
  comp_impl_t* comp = op->comp;
  rt.operations.release(op);
  delivered = true;
  if (comp != nullptr) comp->signal(status);
  return true;
}

bool device::refuse(int peer, uint64_t operation) {
  send_fin(peer, operation, wire::refused);
  return false;
}

bool device::receive_rts(int peer, wire::message& m) {
  wire::rts_body body;
  if (!wire::take_body(m, body)) return false;
  if (m.head.what == wire::kind::rts_am) {
    comp_impl_t* comp = rt.rcomps.lookup(m.head.word);
    operation* op = comp == nullptr ? nullptr : rt.operations.allocate();
    if (op == nullptr) return refuse(peer, body.operation);
    op->comp = comp;
    op->status.buffer = rt.allocate(body.size);
    if (op->status.buffer == nullptr) {
      rt.operations.release(op);
      return refuse(peer, body.operation);
    }
    op->status.size = body.size;
    op->allocated = true;
    op->in_place = comp->attr.am_in_place;
    start_receive(op, peer, m.head.tag, body);
    return true;
  }
  matching_engine* engine = rt.engines.get(m.head.engine);
  if (engine == nullptr) engine = unlisted_engine(m.head.engine);
  if (engine == nullptr) return refuse(peer, body.operation);
  const auto policy = static_cast<matching_policy_t>(m.head.policy);
  const uint64_t key = engine->make_key(peer, m.head.tag, policy);
  void* memory = std::malloc(sizeof(unexpected));
  if (memory == nullptr) throw std::bad_alloc();
  auto* u = new (memory) unexpected{peer, m.head.tag, body.size, true, attr.uid, body};
  void* match = engine->insert(key, u, matching_entry_type_t::send);
  if (match == nullptr) return true;
  std::free(u);
  start_receive(static_cast<operation*>(match), peer, m.head.tag, body);
  return true;
}

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

bool may_post(const comp_impl_t& comp) {
  const attr_comp_type_t type = comp.attr.comp_type;
  return type != attr_comp_type_t::cq && type != attr_comp_type_t::sync &&
         type != attr_comp_type_t::counter;
}

}  // namespace

void device::signal_from_post(comp_impl_t* comp, const status_t& status) {
  if (!may_post(*comp)) return comp->signal(status);
  if (tls_in_progress) return signal_later(comp, status);
  const inside_progress mark;
  comp->signal(status);
}

void device::signal_later(comp_impl_t* comp, const status_t& status) {
  if (!may_post(*comp)) return comp->signal(status);
  pending.fetch_add(1, std::memory_order_relaxed);
  begin_task();
  rt.deferred.push({late_signal::run, new late_signal{*this, comp, status}});
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
    if (error_t(net->post_recv(buffer, p)).is_done()) continue;
    receives_->remove(p);
    if (is_reserved(p)) reserved_receives_.fetch_sub(1, std::memory_order_relaxed);
    p->pool->put(p);
    return;
  }
}

bool device::submit(backlog::item& item) {
  switch (item.what) {
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
      if (result == errorcode_t::fatal && item.completes != nullptr)
        on_operation_failure(item.completes, item.peer);
      return !error_t(result).is_retry();
    }
  }
  return true;
}

}  // namespace lci::core

lci::error_t lci::detail::progress_of(core::device* d) {
  // A handler that calls progress() would recurse into whatever called the handler.
  if (LCI_UNLIKELY(core::tls_in_progress)) return errorcode_t::retry;
  return d->progress() ? errorcode_t::done : errorcode_t::retry;
}
