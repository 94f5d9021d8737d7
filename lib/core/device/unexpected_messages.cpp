#include "lib/core/device/unexpected_messages.hpp"

#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <vector>

#include "lib/base/copy_bytes.hpp"
#include "lib/base/memory.hpp"
#include "lib/core/device/device_visit.hpp"
#include "lib/core/device/raw_network.hpp"
#include "lib/core/transfer/transfers.hpp"

namespace lci::core {

unexpected* allocate_unexpected(size_t payload) {
  void* memory = std::malloc(sizeof(unexpected) + payload);
  for (int n = 1; LCI_UNLIKELY(memory == nullptr) && n < memory_tries; ++n) {
    await_memory();
    memory = std::malloc(sizeof(unexpected) + payload);
  }
  return memory == nullptr ? nullptr : new (memory) unexpected{};
}

namespace {

/// An eager message with its payload, counted; null if there is no memory for it.
LCI_ALWAYS_INLINE inline unexpected* copy_message(device& d, int peer, tag_t tag, const std::byte* data, size_t size,
                                                  uint64_t ack) {
  unexpected* const u = allocate_unexpected(size);
  if (LCI_UNLIKELY(u == nullptr)) return nullptr;
  *u = {peer, tag, size, false, false, d.attr.uid, {0, 0, 0, ack}};
  if (size > 0) copy_bytes(u->payload(), data, size);
  d.flow.count(peer, u->memory());  // before another thread can take it
  return u;
}

}  // namespace

bool file_unexpected(device& d, matching_engine& engine, uint64_t key, unexpected* u, void*& match) {
  try {
    match = insist_on_memory([&] { return engine.insert(key, u, matching_entry_type_t::send); });
    return true;
  } catch (const std::bad_alloc&) {
    free_unexpected(&d, u);
    return false;
  }
}

bool file_unexpected(device& d, matching_engine& engine, uint64_t key, int peer, tag_t tag, const std::byte* data,
                     size_t size, uint64_t ack, void*& match) {
  unexpected* const u = copy_message(d, peer, tag, data, size, ack);
  if (LCI_UNLIKELY(u == nullptr)) return false;
  if (LCI_UNLIKELY(!file_unexpected(d, engine, key, u, match))) return false;
  if (LCI_UNLIKELY(match != nullptr)) free_unexpected(&d, u);
  return true;
}

early store_early(device& d, const wire::header& head, unexpected* u, matching_engine*& engine) {
  try {
    const auto policy = static_cast<matching_policy_t>(head.policy);
    engine = insist_on_memory([&] { return d.rt.engines.store_early(head.engine, policy, u); });
    return engine == nullptr ? early::stored : early::allocated;
  } catch (const std::bad_alloc&) {
    free_unexpected(&d, u);
    return early::no_memory;
  }
}

early store_early(device& d, int peer, const wire::header& head, const std::byte* data, size_t size, uint64_t ack) {
  if (!engine_table::is_number(head.engine)) return early::rejected;
  unexpected* const u = copy_message(d, peer, wire::tag_of(head), data, size, ack);
  if (u == nullptr) return early::no_memory;
  matching_engine* engine = nullptr;
  const early result = store_early(d, head, u, engine);
  if (result == early::allocated) free_unexpected(&d, u);
  return result;
}

namespace {

/// The answer to the sender of a message that no receive will match.
struct refusal {
  int peer;
  uint64_t operation;
  bool is_fin;
};

}  // namespace

void answer_unexpected(device& d, int peer) {
  std::vector<refusal> refusals;
  const auto collect = [&](unexpected& u) {
    if (u.device_uid != d.attr.uid || (peer >= 0 && u.peer != peer)) return false;
    if (u.rendezvous && !u.cancelled) {
      insist_on_memory([&] { refusals.push_back({u.peer, u.rts.operation, true}); });
      u.cancelled = true;  // remains stored: its receive must complete with the same error
    } else if (!u.rendezvous && (u.rts.operation & wire::wants_ack) != 0) {
      insist_on_memory([&] { refusals.push_back({u.peer, u.rts.operation, false}); });
      u.rts.operation = 0;  // its data has arrived: a receive may still match it
    }
    return false;
  };
  d.rt.engines.remove_unexpected(collect);
  const auto from_entry = [&](void* entry) { return collect(*static_cast<unexpected*>(entry)); };
  if (raw_network* raw = d.raw.load(std::memory_order_acquire))
    raw->engine.remove_if(matching_entry_type_t::send, std::cref(from_entry));  // by reference: needs no memory
  for (const refusal& r : refusals)
    r.is_fin ? send_fin(d, r.peer, r.operation, wire::cancelled) : send_ack(d, r.peer, r.operation, wire::cancelled);
}

void answer_discarded(device& d, const unexpected& u) {
  if (u.rendezvous && !u.cancelled)
    send_fin(d, u.peer, u.rts.operation, wire::cancelled);
  else if (!u.rendezvous && (u.rts.operation & wire::wants_ack) != 0)
    send_ack(d, u.peer, u.rts.operation, wire::cancelled);
}

void cancel_receive(device& d, operation* op, int peer, tag_t tag) {
  op->belong_to(&d);
  op->status.rank = peer;
  op->status.tag = tag;
  d.pending.fetch_add(1, std::memory_order_relaxed);
  op->fail_as(failure::cancelled);
  fail_operation(d, op);
}

}  // namespace lci::core
