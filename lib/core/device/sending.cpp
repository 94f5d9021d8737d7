#include "lib/core/device/sending.hpp"

#include <cstring>
#include <exception>
#include <new>
#include <string>

#include "lib/base/check.hpp"
#include "lib/base/log.hpp"
#include "lib/base/memory.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/device/gates.hpp"
#include "lib/core/observe/observed_network.hpp"
#include "lib/core/operation/ticket.hpp"
#include "lib/core/transfer/transfers.hpp"

namespace lci::core {

namespace {

/// Posts to the network. A network that has no memory has done nothing, so the caller tries again. (What a handler
/// throws is another matter: the operation has ended.)
errorcode_t post_to_network(device& d, const network::net_op& op) {
  try {
    return d.net->post(op);
  } catch (const std::bad_alloc&) {
    return errorcode_t::retry_nomem;
  }
}

}  // namespace

errorcode_t send_packet(device& d, int peer, packet* p, size_t size, operation* completes) {
  // Found before anything is allocated or counted: this throws if the packet's pool is not registered.
  const uint64_t lkey = d.supply.lkey_of(*p->pool);
  operation* op = completes;
  if (op == nullptr) {
    op = d.rt.operations.allocate();
    if (op == nullptr) return errorcode_t::retry_nomem;
    op->belong_to(&d);
    op->become(op_state::send);
    op->status.rank = peer;
    op->pieces.store(1, std::memory_order_relaxed);
    d.pending.fetch_add(1, std::memory_order_relaxed);
  }
  op->carry(p);
  network::net_op request;
  request.peer = peer;
  request.n_segments = 1;
  request.segments[0] = {&p->head, sizeof(wire::header) + size, lkey};
  request.context = op;
  const errorcode_t result = post_to_network(d, request);
  if (result == errorcode_t::posted) return errorcode_t::done;  // the packet is on its way
  if (result == errorcode_t::done) {
    end_piece(d, op);
    return errorcode_t::done;
  }
  op->carry(nullptr);
  if (completes != nullptr) return result;
  d.pending.fetch_sub(1, std::memory_order_relaxed);
  d.rt.operations.release(op);
  return result;
}

bool is_sending(device& d, const packet_pool& pool) {
  bool any = false;
  d.rt.operations.for_each_of(&d, [&](const operation* op, op_state state) {
    any = any || (state == op_state::send && pool.contains(op->carried()));
  });
  return any;
}

// --- the backlog ---

namespace {

bool submit_network_op(device& d, backlog::item& item) {
  const errorcode_t result = post_to_network(d, item.op);
  if (error_t(result).is_retry()) return false;
  if (item.op.context == nullptr) return true;
  if (result == errorcode_t::fatal)
    d.on_operation_failure(item.op.context, item.peer);
  else if (error_t(result).is_done())
    end_piece(d, static_cast<operation*>(item.op.context));
  return true;
}

/// Sends a message from a copy, by injection or through a packet. `completes`: as of send_packet().
errorcode_t send_copy(device& d, int peer, const std::byte* message, size_t size, operation* completes) {
  network::net_op op;
  op.peer = peer;
  op.urgent = completes == nullptr;
  op.n_segments = 1;
  op.segments[0] = {const_cast<std::byte*>(message), size, 0};
  // Posts make messages larger than a packet only where they can be injected.
  const bool can_inject = completes == nullptr || d.limits.sends_land_at_once;
  const bool needs_inject = size > sizeof(wire::header) + d.packet_pool.p_impl->payload_size();
  if (can_inject && (needs_inject || size <= d.limits.max_inject)) {
    op.inject = true;
    const errorcode_t result = post_to_network(d, op);
    if (error_t(result).is_done() && completes != nullptr) end_piece(d, completes);
    return result;
  }
  packet* p = d.supply.reserved();
  if (p == nullptr) return errorcode_t::retry_nopacket;
  LCI_ASSERT(size <= sizeof(wire::header) + p->pool->payload_size());
  std::memcpy(&p->head, message, size);
  const errorcode_t result = send_packet(d, peer, p, size - sizeof(wire::header), completes);
  if (!error_t(result).is_done()) p->pool->put(p);
  return result;
}

bool submit_message(device& d, backlog::item& item) {
  if (operation* const op = item.completes; LCI_UNLIKELY(op != nullptr && op->named) && ticket_of(op).stop()) {
    op->fail_as(failure::cancelled);
    end_piece(d, op);
    return true;
  }
  const errorcode_t result = send_copy(d, item.peer, item.message.data(), item.message.size(), item.completes);
  // Of a message of the library's own: the network reports why the peer can't be reached, which ends what waits for it.
  if (result == errorcode_t::fatal && item.completes != nullptr) d.on_operation_failure(item.completes, item.peer);
  return !error_t(result).is_retry();
}

LCI_COLD void log_out_of_memory(int peer, const char* consequence) {
  try {
    log_warning("out of memory: a message of the library to rank " + std::to_string(peer) + " can't be kept, and " +
                consequence);
  } catch (const std::bad_alloc&) {
    // The text needs memory, too.
  }
}

/// Returns whether the item must not overtake those before it, even if there is no memory to queue it.
bool keeps_its_turn(const backlog::item& item) {
  return item.what == backlog::item::type::rest || (item.what == backlog::item::type::resume && item.resume->in_order);
}

}  // namespace

bool submit(device& d, backlog::item& item) {
  switch (item.what) {
    case backlog::item::type::taken:
      return true;
    case backlog::item::type::resume:
      return try_advance(d, item.resume);
    case backlog::item::type::op:
      return submit_network_op(d, item);
    case backlog::item::type::rest:
      return item.rest->post_rest(failure::none);
    case backlog::item::type::message:
      return submit_message(d, item);
  }
  return true;
}

void note_waiting(device& d, backlog::item& item) {
  if (LCI_UNLIKELY(d.observer != nullptr)) number_waiting(*d.observer, item.message);
}

void enqueue(device& d, backlog::item item) {
  if (item.what == backlog::item::type::message) note_waiting(d, item);
  for (int n = 0; n < memory_tries; ++n) {
    if (n > 0) await_memory();
    try {
      return d.backlog.push(std::move(item));  // without memory the item stays here
    } catch (const std::bad_alloc&) {
      if ((!keeps_its_turn(item) || !d.backlog.holds_back(item.peer)) && submit(d, item)) return;
    }
  }
  log_out_of_memory(item.peer, "is lost");
  end_unsent(d, item, failure::no_memory);
}

void submit_or_enqueue(device& d, backlog::item item) {
  if (d.backlog.holds_back(item.peer) || !submit(d, item)) enqueue(d, std::move(item));
}

void end_unsent(device& d, backlog::item& item, failure how) {
  switch (item.what) {
    case backlog::item::type::resume:
      item.resume->fail_as(how);
      (void)try_advance(d, item.resume);  // which ends it
      break;
    case backlog::item::type::message:
      if (item.awaited != 0) end_awaiting(d, item.peer, item.handle, item.awaited, how);
      if (item.completes == nullptr) break;
      item.completes->fail_as(how);
      end_piece(d, item.completes);
      break;
    case backlog::item::type::op:
      if (item.op.context == nullptr) break;
      static_cast<operation*>(item.op.context)->fail_as(how);
      end_piece(d, static_cast<operation*>(item.op.context));
      break;
    case backlog::item::type::rest:
      (void)item.rest->post_rest(how);
      break;
    case backlog::item::type::taken:
      break;
  }
}

bool send_kept(device& d) {
  return d.backlog.drain_reserve([&d](int peer, const std::byte* message, size_t size) {
    return !error_t(send_copy(d, peer, message, size, nullptr)).is_retry();
  });
}

void end_queued(device& d, int peer, std::exception_ptr& thrown) {
  try {
    // An operation that ends may queue an answer, so repeat.
    while (d.backlog.drain([&](backlog::item& item) { return item.peer == peer && submit(d, item); })) {
    }
    (void)send_kept(d);
  } catch (...) {
    if (thrown == nullptr) thrown = std::current_exception();
  }
}

// --- the library's own messages ---

namespace {

bool try_inject(device& d, int peer, const void* message, size_t size) {
  network::net_op op;
  op.inject = true;
  op.urgent = true;
  op.peer = peer;
  op.n_segments = 1;
  op.segments[0] = {const_cast<void*>(message), size, 0};
  // After `fatal`, the network reports why, and the report ends what waits for the peer.
  return !error_t(post_to_network(d, op)).is_retry();
}

}  // namespace

bool send_or_queue(device& d, int peer, const void* message, size_t size) {
  if (LCI_LIKELY(!d.backlog.holds_back(peer) && size <= d.limits.max_inject && try_inject(d, peer, message, size)))
    return true;
  for (int n = 0;; ++n) {
    if (n > 0) await_memory();
    try {
      backlog::item item;
      item.peer = peer;
      const auto* bytes = static_cast<const std::byte*>(message);
      item.message.assign(bytes, bytes + size);
      d.backlog.push(std::move(item));
      return true;
    } catch (const std::bad_alloc&) {
      // Out of order rather than not at all: the library's own messages have no order.
      if (size <= d.limits.max_inject && try_inject(d, peer, message, size)) return true;
      if (d.backlog.keep(peer, message, size)) return true;
    }
    // The reserve is full. The peer waits for this message, so it must not be lost, unless the device is being freed.
    try {
      (void)send_kept(d);
    } catch (const std::exception&) {  // the network has refused another message
      d.failures.add_exception(std::current_exception());
    }
    if (n + 1 < memory_tries) continue;
    if (n + 1 == memory_tries) log_out_of_memory(peer, "waits until there is memory again");
    if (!d.lifetime.may_wait()) break;
  }
  log_out_of_memory(peer, "is lost");
  return false;
}

void send_request(device& d, int peer, uint32_t handle, awaited_packets awaited, const void* message, size_t size) {
  if (LCI_UNLIKELY(!send_or_queue(d, peer, message, size))) end_awaiting(d, peer, handle, awaited, failure::no_memory);
}

}  // namespace lci::core
