// What all posts share: argument checks, setting up the operation, the returned status.
#pragma once

#include <string>

#include "lib/base/check.hpp"
#include "lib/core/device/argument_checks.hpp"
#include "lib/core/device/back_pressure.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/device/in_progress.hpp"
#include "lib/core/device/signals.hpp"
#include "lib/core/memory/memory_region.hpp"
#include "lib/core/operation/make_status.hpp"
#include "lib/core/operation/ticket.hpp"
#include "lib/core/post/blocking.hpp"

namespace lci::core {

template <class Args>
inline status_t done_status(const Args& a, void* buffer, errorcode_t code = errorcode_t::done) {
  return make_status(code, a.rank, buffer, a.size, a.tag, a.user_context);
}

/// Ends a post whose operation is complete: signals the completion object if signals_when_done(), else returns `done`.
template <class Args>
inline status_t answer_done(device& d, const Args& a, void* buffer, errorcode_t code = errorcode_t::done) {
  status_t status = done_status(a, buffer, code);
  if (!signals_when_done(a)) return status;
  status.error = errorcode_t::done;
  signal_from_post(d, a.local_comp.p_impl, status);
  return errorcode_t::posted;
}

template <class Args>
inline void* buffer_of(const Args& a) {
  return const_cast<void*>(static_cast<const void*>(a.local_buffer));
}

/// To be called before a message is queued that may not be refused: if the peer's backlog is above its limit, the
/// thread makes progress until it is not, or until the post's deadline. In a handler it does not wait.
template <class Args>
inline void await_room(device& d, Args& a) {
  if (LCI_UNLIKELY(!d.backlog.empty()) && !tls_in_progress) await_backlog(d, a.rank, a.deadline);
}

/// Returns a retry, or throws if the caller forbids that.
LCI_COLD inline status_t too_many_operations(bool may_retry) {
  if (may_retry) return errorcode_t::retry_nomem;
  throw_too_many_operations();
}

/// Allocates an operation with the device, completion object, status and registration of a post; null if there is none
/// left. Throws if `mr` is of another device.
template <class Args>
static inline operation* make_operation(device& d, const Args& a) {
  const memory_region* region = is_registered(a.mr) ? a.mr.p_impl : nullptr;
  if (LCI_UNLIKELY(region != nullptr) && region->device_serial != d.serial) reject_registration(d, *region);
  operation* op = d.rt.operations.allocate_blank();
  if (LCI_UNLIKELY(op == nullptr)) return nullptr;
  op->belong_to(&d);
  op->comp = can_signal(a.local_comp) ? a.local_comp.p_impl : nullptr;
  op->status = done_status(a, buffer_of(a));
  if (region != nullptr) op->reg = region->reg;
  return op;
}

/// Gives an operation that no other thread can reach yet a ticket, and returns the ticket's name in `a.operation`. The
/// ticket is held: if the operation does not access the user's memory at first, the caller calls release().
/// Without memory it releases the operation, with its registration, and throws.
template <class Args>
LCI_COLD ticket& name_operation(device& d, operation* op, const Args& a) {
  ticket* t;
  try {
    t = d.rt.tickets.get(d, op->comp, op->status, a.deadline);
  } catch (...) {
    if (op->registered) d.registrations.release(op->reg);
    d.rt.operations.release(op);
    throw;
  }
  op->comp = t;
  op->named = true;
  *a.operation = t->name();
  return *t;
}

/// Registers the buffer for this operation. If that throws, the operation is released.
template <class Args>
void register_buffer(device& d, operation* op, const Args& a) {
  try {
    op->reg = d.registrations.acquire(op->status.buffer, a.size);
    op->registered = true;
  } catch (...) {
    if (op->named) ticket_of(op).retire();
    if (op->copied) op->allocator->deallocate(op->status.buffer);
    d.rt.operations.release(op);
    throw;
  }
}

template <class Args>
LCI_COLD void reject_common(const char* what, const device& d, const Args& a) {
  if (static_cast<unsigned>(a.rank) >= static_cast<unsigned>(d.n_peers))
    throw_invalid(what, "rank", std::to_string(a.rank) + (a.rank == ANY_SOURCE ? " (ANY_SOURCE)" : ""),
                  "0.." + std::to_string(d.n_peers - 1));
  if (a.local_buffer == nullptr && a.size != 0)
    throw_invalid(what, "local_buffer", "nullptr", "an address",
                  "only messages of 0 bytes may have none (size = " + std::to_string(a.size) + ")");
  if (!is_possible(a.size)) reject_size(what, a.size);
  if (a.tag > max_tag)
    throw_invalid(what, "tag", std::to_string(a.tag) + (a.tag == ANY_TAG ? " (ANY_TAG)" : ""),
                  "0.." + std::to_string(max_tag), "see the runtime's attribute max_tag");
}

/// The argument checks of every operation, in four compares.
template <class Args>
inline void check_common(const char* what, const device& d, const Args& a) {
  if (LCI_UNLIKELY(static_cast<unsigned>(a.rank) >= static_cast<unsigned>(d.n_peers) ||
                   (a.local_buffer == nullptr && a.size != 0) || !is_possible(a.size) || a.tag > max_tag))
    reject_common(what, d, a);
  d.failures.check(a.rank);
}

}  // namespace lci::core
