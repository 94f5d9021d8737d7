// What a device does when a peer fails, leaves, or frees its device: it ends the operations that wait for the peer.
#include <exception>
#include <functional>
#include <new>
#include <utility>

#include "lib/core/device/close_device.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/device/gates.hpp"
#include "lib/core/device/sending.hpp"
#include "lib/core/device/unexpected_messages.hpp"
#include "lib/core/transfer/transfers.hpp"

namespace lci::core {

namespace {

/// Ends receives that name the failed peer; `thrown` is the first exception of a handler. Allocates no memory: the peer
/// fails once, and what is not ended then never ends.
LCI_COLD void fail_receives(device& d, int peer, std::exception_ptr& thrown) {
  operation *first = nullptr, *last = nullptr;
  const auto take_lost = [&](void* entry) {
    auto* op = static_cast<operation*>(entry);
    if (op->owner() != &d || op->status.rank != peer) return false;
    op->next_free = nullptr;  // a posted receive is in no free list, and has no allocator of its own
    (first == nullptr ? first : last->next_free) = op;
    last = op;
    return true;
  };
  d.rt.engines.for_each([&](matching_engine& engine) {
    engine.remove_if(matching_entry_type_t::recv, std::cref(take_lost));  // by reference: needs no memory
  });
  if (first != nullptr) d.failures.report_failure_of(peer);
  while (first != nullptr) {
    operation* const op = std::exchange(first, first->next_free);
    op->allocator = nullptr;
    d.pending.fetch_add(1, std::memory_order_relaxed);  // complete_operation() takes it back
    op->status.size = 0;
    try {
      fail_operation(d, op);
    } catch (...) {
      if (thrown == nullptr) thrown = std::current_exception();
    }
  }
}

/// Ends the operations that wait for an answer of the peer. If handlers throw, all operations end
/// nevertheless. Returns the first exception, or null.
LCI_COLD std::exception_ptr end_answers(device& d, int peer, failure how) {
  return end_all_awaiting(d, how, [peer](const operation* op) { return op->status.rank == peer; });
}

/// Ends operations that wait for an answer or a message of a peer that has failed.
LCI_COLD void end_operations(device& d, int peer) {
  for (receive_window::request lost; d.receive_window.take_of(peer, lost);)
    d.pending.fetch_sub(1, std::memory_order_release);
  std::exception_ptr thrown = end_answers(d, peer, failure::fatal);
  fail_receives(d, peer, thrown);
  end_queued(d, peer, thrown);
  if (thrown != nullptr) std::rethrow_exception(thrown);
}

void note_device_end(device& d, int peer, uint8_t how) {
  d.failures.add_device_end(peer, how);
  if (how == wire::has_ended) d.flow.forget(peer);
}

}  // namespace

void device::on_peer_failure(int peer, const char* reason) {
  // A program that has not communicated with the peer is not disturbed, but its posts to the peer are refused.
  if (!failures.add(peer, reason, net->has_met(peer))) return;
  not_plain.fetch_or(peer_failed, std::memory_order_relaxed);
  flow.forget(peer);
  rt.streams.lose(peer);
  end_operations(*this, peer);
}

void device::on_peer_departure(int peer, network::departure how) {
  rt.external_peers->end(peer, how);
  if (how == network::departure::died) failures.add_external(peer);
  failures.forget(peer);
  flow.forget(peer);
  rt.streams.lose(peer);
  end_operations(*this, peer);
}

void device::on_operation_failure(void* context, int peer) {
  auto* op = static_cast<operation*>(context);
  // The last piece ends the operation, with this failure.
  op->fail_as(failures.with(peer) == failure::cancelled ? failure::cancelled : failure::fatal);
  end_piece(*this, op);
}

void device::on_device_end(int peer) {
  try {
    note_device_end(*this, peer, wire::has_ended);
  } catch (const std::bad_alloc&) {
    // Its end is reported once. Operations with a failed peer end, and later posts to it are refused.
    return on_peer_failure(peer, "it has freed its device, and there was no memory to note that");
  }
  answer_unexpected(*this, peer);
  std::exception_ptr thrown = end_answers(*this, peer, failure::cancelled);
  end_queued(*this, peer, thrown);
  if (thrown != nullptr) std::rethrow_exception(thrown);
}

bool receive_device_end(device& d, int peer, wire::message& m) {
  if (m.head.policy > wire::has_ended) return false;
  if (m.head.policy == wire::has_ended) {
    d.on_device_end(peer);
    return true;
  }
  note_device_end(d, peer, wire::ends);
  answer_unexpected(d, peer);
  for (receive_window::request refused; refuse_request(d, peer, refused);) continue;
  return true;
}

}  // namespace lci::core
