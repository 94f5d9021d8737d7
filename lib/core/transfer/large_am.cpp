// Memory that messages get at their target: large active messages, which are received a few at a time, and receives
// without a buffer.
#include <cstring>
#include <new>

#include "lib/base/copy_bytes.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/device/receive.hpp"
#include "lib/core/operation/fill_receive.hpp"
#include "lib/core/transfer/transfers.hpp"

namespace lci::core {

namespace {

/// Allocates memory for the payload of an active message. With `in_place` the completion object reads it there;
/// otherwise the program will own it. Not called for a message of 0 bytes, which has no buffer.
void* allocate_payload(device& d, size_t size, bool in_place, allocator_base_t* allocator) {
  // With an allocator of its own the program decides where payloads lie.
  const bool own = allocator != nullptr || d.rt.allocator() != nullptr;
  void* kept = in_place && !own ? d.buffer_cache.take(size) : nullptr;
  return kept != nullptr ? kept : d.rt.allocate_for_arrival(size, allocator);
}

/// Returns whether the window of large active messages has no room for this one now.
bool must_wait(device& d, const receive_window::request& r) {
  return d.receive_window.is_full_of(r.peer) && d.net->attention_of(r.peer) != network::attention::unknown;
}

}  // namespace

void free_payload(device& d, void* buffer, allocator_base_t* allocator) {
  if (!d.buffer_cache.give_back(buffer)) d.rt.deallocate(buffer, allocator);
}

bool take_large_am(device& d, const receive_window::request& r) {
  if (!must_wait(d, r)) return start_large_am(d, r);
  d.pending.fetch_add(1, std::memory_order_relaxed);  // a drained device has delivered what had come
  try {
    d.receive_window.wait(r);
    return true;
  } catch (const std::bad_alloc&) {
    d.pending.fetch_sub(1, std::memory_order_relaxed);
    return start_large_am(d, r);  // without room in the window, which only makes transfers faster
  }
}

bool start_large_am(device& d, const receive_window::request& r) {
  const rcomp_table::target to = d.rt.rcomps.find_target(r.comp);
  if (to.comp == nullptr) {
    (void)refuse(d, r.peer, r.rts.operation);
    count_rejected(d);
    report_undelivered(d, r.comp, r.peer, r.tag, r.rts.size);
    return true;
  }
  operation* op = d.rt.operations.allocate();
  if (op != nullptr) {
    op->comp = to.comp;
    op->remote_comp = r.comp;
    op->in_place = to.comp->attr.am_in_place;
    op->allocator = to.allocator;
    if (r.rts.size > 0) op->status.buffer = allocate_payload(d, r.rts.size, op->in_place, to.allocator);
  }
  if (op == nullptr || (op->status.buffer == nullptr && r.rts.size > 0)) {
    if (op != nullptr) d.rt.operations.release(op);
    count_undelivered(d, r.peer, r.rts.size);
    (void)refuse(d, r.peer, r.rts.operation, wire::no_memory);
    return true;  // nothing was wrong with the message
  }
  op->status.size = r.rts.size;
  op->allocated = true;
  start_receive(d, op, r.peer, r.tag, r.rts);
  return true;
}

bool start_waiting_requests(device& d) {
  bool any = false;
  const auto may_start = [&d](const receive_window::request& oldest) { return !must_wait(d, oldest); };
  for (receive_window::request r; d.receive_window.take(r, may_start); any = true) {
    struct ending {  // also if a handler throws
      std::atomic<int64_t>& pending;
      ~ending() { pending.fetch_sub(1, std::memory_order_release); }
    } const at_end{d.pending};
    (void)start_large_am(d, r);
  }
  return any;
}

bool refuse_request(device& d, int peer, receive_window::request& r) {
  if (!d.receive_window.take_of(peer, r)) return false;
  d.pending.fetch_sub(1, std::memory_order_release);
  (void)refuse(d, r.peer, r.rts.operation, wire::cancelled);
  return true;
}

// --- receives without a buffer ---

LCI_COLD bool allocate_buffer(device& d, operation* op, int peer, const wire::rts_body& rts) {
  op->status.buffer = d.rt.allocate_for_arrival(rts.size, nullptr);
  op->status.size = op->status.buffer == nullptr ? 0 : rts.size;
  if (op->status.buffer != nullptr) return true;
  count_undelivered(d, peer, rts.size);
  return false;
}

LCI_COLD void drop_buffer(device& d, operation* op) {
  if (op->registered) op->owner()->registrations.release(op->reg);
  op->registered = false;
  // None if it has matched no message, or one of 0 bytes. The program's allocator need not accept null.
  if (op->status.buffer != nullptr) d.rt.deallocate(op->status.buffer, nullptr);
  op->status.buffer = nullptr;
  op->status.size = 0;
}

status_t fill_allocated(device& d, const operation& op, int peer, tag_t tag, const void* data, size_t size) {
  void* buffer = d.rt.allocate_for_arrival(size, nullptr);
  if (buffer != nullptr)
    copy_bytes(buffer, data, size);
  else
    count_undelivered(d, peer, size);
  return make_status(buffer == nullptr ? errorcode_t::no_memory : errorcode_t::done, peer, buffer,
                     buffer == nullptr ? 0 : size, tag, op.status.user_context);
}

}  // namespace lci::core
