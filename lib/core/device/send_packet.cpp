// How the library's messages get to the fabric when they are not injected by a post itself.
#include <new>
#include <string>

#include "lib/base/log.hpp"
#include "lib/base/memory.hpp"
#include "lib/core/device/device.hpp"

namespace lci::core {

errorcode_t device::send_packet(int peer, packet* p, size_t size, operation* completes) {
  operation* op = completes;
  if (op == nullptr) {
    op = rt.operations.allocate();
    if (op == nullptr) return errorcode_t::retry_nomem;
    op->belong_to(this);
    op->become(op_state::send);
    op->status.rank = peer;
    op->pieces.store(1, std::memory_order_relaxed);
    pending.fetch_add(1, std::memory_order_relaxed);
  }
  op->carrier = p;
  network::net_op request;
  request.peer = peer;
  request.n_segments = 1;
  request.segments[0] = {&p->head, sizeof(wire::header) + size, pool_lkey(*p->pool)};
  request.context = op;
  const errorcode_t result = net->post(request);
  if (result == errorcode_t::posted) return errorcode_t::done;  // the packet is on its way
  if (result == errorcode_t::done) {
    on_complete(op);
    return errorcode_t::done;
  }
  op->carrier = nullptr;
  if (completes != nullptr) return result;
  pending.fetch_sub(1, std::memory_order_relaxed);
  rt.operations.release(op);
  return result;
}

bool device::send_or_queue(int peer, const void* message, size_t size) {
  if (LCI_LIKELY(backlog.empty() && size <= limits.max_inject && try_inject(peer, message, size))) return true;
  for (int n = 0; n < memory_tries; ++n) {
    if (n > 0) await_memory();
    try {
      backlog::item item;
      item.peer = peer;
      const auto* bytes = static_cast<const std::byte*>(message);
      item.message.assign(bytes, bytes + size);
      backlog.push(std::move(item));
      return true;
    } catch (const std::bad_alloc&) {
      // Rather out of turn than not at all: the library's own messages have no order.
      if (size <= limits.max_inject && try_inject(peer, message, size)) return true;
    }
  }
  log_out_of_memory(peer);
  return false;
}

bool device::try_inject(int peer, const void* message, size_t size) {
  network::net_op op;
  op.inject = true;
  op.urgent = true;
  op.peer = peer;
  op.n_segments = 1;
  op.segments[0] = {const_cast<void*>(message), size, 0};
  // Where it says `fatal`, the network tells why, which ends what waits for the peer.
  return !error_t(net->post(op)).is_retry();
}

void device::queue(backlog::item item) {
  for (int n = 0; n < memory_tries; ++n) {
    if (n > 0) await_memory();
    try {
      return backlog.push(std::move(item));  // which leaves what it can't keep
    } catch (const std::bad_alloc&) {
      if (submit(item)) return;
    }
  }
  log_out_of_memory(item.peer);
  drop(item, failure::no_memory);
}

void device::end_unsent(int peer, uint32_t handle, awaited_packets awaited, failure how) {
  (void)visit(handle, awaited, peer, [how](operation* op, uint8_t) {
    if (!op->gate.close()) return false;
    op->fail_as(how);
    return true;
  });
}

void device::log_out_of_memory(int peer) {
  try {
    log_warning("out of memory: a message of the library to rank " + std::to_string(peer) +
                " can't be kept, and is lost");
  } catch (const std::bad_alloc&) {
    // To say so needs memory, too.
  }
}

}  // namespace lci::core
