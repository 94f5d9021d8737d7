// Received messages: the shortest way of the most common ones, and the dispatch of all by their kind.
#include "lib/core/device/receive.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "lib/base/copy_bytes.hpp"
#include "lib/base/copy_small.hpp"
#include "lib/base/log.hpp"
#include "lib/base/memory.hpp"
#include "lib/base/race_detector.hpp"
#include "lib/comp/completion_queue.hpp"
#include "lib/comp/handler.hpp"
#include "lib/core/device/close_device.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/device/internal_ids.hpp"
#include "lib/core/device/signals.hpp"
#include "lib/core/device/unexpected_messages.hpp"
#include "lib/core/operation/fill_receive.hpp"
#include "lib/core/stream/handlers.hpp"
#include "lib/core/transfer/handlers.hpp"

namespace lci::core {

// --- losses ---

void count_rejected(device& d) { d.rt.rejected_packets.fetch_add(1, std::memory_order_relaxed); }

namespace {

/// In the checking mode, since the sender of a small message can't learn that it was dropped, and waits for an effect.
void warn_of_undelivered(device& d, rcomp_t handle, int peer, size_t size) {
  if (!d.rt.attr.check || d.rt.has_warned_of_undelivered.exchange(true, std::memory_order_relaxed)) return;
  char line[400];
  std::snprintf(line, sizeof line,
                "check: rank %d has dropped a message of %zu bytes from rank %d, since its remote completion handle %u "
                "is not registered there; a barrier() between register_rcomp() and the first post ensures that it is. "
                "Further messages are dropped without a warning",
                d.rt.rank(), size, peer, handle);
  log_warning(line);
}

}  // namespace

void report_undelivered(device& d, rcomp_t handle, int peer, tag_t tag, size_t size) {
  // A1: pairs with R1 in set_undelivered().
  comp_impl_t* const comp = d.rt.undelivered.load(std::memory_order_acquire);
  if (comp == nullptr) return warn_of_undelivered(d, handle, peer, size);
  status_t s = arrived_status(peer, nullptr, size, tag);
  s.error = errorcode_t::fatal;
  s.user_context = reinterpret_cast<void*>(static_cast<uintptr_t>(handle));
  comp->signal(s);
}

void count_undelivered(device& d, int peer, size_t size) {
  if (d.observer != nullptr && d.observer->counts != nullptr) d.observer->counts->add(counted::no_memory, peer, size);
}

uncounted_loss::uncounted_loss(int of_peer, size_t of_size)
    : resource_error(lost_message("an active message", of_peer, of_size)), peer(of_peer), size(of_size) {}

resource_error count_lost(device& d, const char* what, int peer, size_t size) {
  count_undelivered(d, peer, size);
  return lost_message(what, peer, size);
}

namespace {

[[noreturn]] LCI_COLD void throw_lost(device& d, const char* what, int peer, size_t size) {
  throw count_lost(d, what, peer, size);
}

// --- the most common messages ---

LCI_NOINLINE void receive_signal(device& d, int peer, network::message_head head, const std::byte* data, size_t size) {
  wire::signal_body body;
  comp_impl_t* comp = d.rt.rcomps.lookup(wire::word_of(head));
  if (LCI_UNLIKELY(comp == nullptr)) comp = unlisted_comp(d, wire::word_of(head));
  if (LCI_UNLIKELY(size < sizeof body)) return count_rejected(d);
  std::memcpy(&body, data, sizeof body);
  if (LCI_UNLIKELY(comp == nullptr)) {
    count_rejected(d);
    return report_undelivered(d, wire::word_of(head), peer, wire::tag_of(head), body.size);
  }
  comes_back(&d.rt);  // for ThreadSanitizer: if the put came in messages, receive_put() has acknowledged them before
  comp->signal(arrived_status(peer, reinterpret_cast<void*>(body.addr), body.size, wire::tag_of(head)));
}

void receive_early_send(device& d, int peer, network::message_head head, const std::byte* data, size_t size);

/// A send that matches no posted receive, unless one is posted meanwhile.
LCI_NOINLINE void receive_unmatched(device& d, int peer, network::message_head head, const std::byte* data,
                                    size_t size) {
  matching_engine* engine = d.rt.engines.get(wire::engine_of(head));
  if (LCI_UNLIKELY(engine == nullptr) && (engine = unlisted_engine(d, wire::engine_of(head))) == nullptr)
    return receive_early_send(d, peer, head, data, size);
  const tag_t tag = wire::tag_of(head);
  const uint64_t key = engine->make_key(peer, tag, wire::policy_of(head));
  void* match = engine->take(key, matching_entry_type_t::recv);
  if (match == nullptr && !file_unexpected(d, *engine, key, peer, tag, data, size, 0, match))
    throw_lost(d, "a send", peer, size);
  if (match != nullptr) (void)end_receive(d, d.rt.operations, static_cast<operation*>(match), peer, tag, data, size);
}

/// A send that has matched a posted receive.
LCI_NOINLINE void receive_matched(device& d, operation* op, int peer, tag_t tag, const std::byte* data, size_t size) {
  (void)end_receive(d, d.rt.operations, op, peer, tag, data, size);
}

// Most messages are short and match a posted receive that has no rare arguments. Other cases are calls at the end, so
// that no registers need saving. To file a message its copy must exist beforehand, so a receive is taken first.
LCI_NOINLINE void receive_send(device& d, int peer, network::message_head head, const std::byte* data, size_t size) {
  const matching_engine* const engine = d.rt.engines.get(wire::engine_of(head));
  if (LCI_UNLIKELY(engine == nullptr)) return receive_unmatched(d, peer, head, data, size);
  const tag_t tag = wire::tag_of(head);
  if (LCI_UNLIKELY(engine->attr.make_key != nullptr)) return receive_unmatched(d, peer, head, data, size);
  const uint64_t key = matching_engine::usual_key(peer, tag, wire::policy_of(head));
  auto* const op = static_cast<operation*>(engine->try_take(key, matching_entry_type_t::recv));
  if (LCI_UNLIKELY(op == nullptr)) return receive_unmatched(d, peer, head, data, size);
  const status_t& wanted = op->status;
  if (LCI_UNLIKELY(op->doing() != op_state::plain_recv || size > wanted.size || size >= cache_line))
    return receive_matched(d, op, peer, tag, data, size);
  void* const buffer = wanted.buffer;
  void* const user_context = wanted.user_context;
  comp_impl_t* const comp = op->comp;
  if (LCI_UNLIKELY(!d.rt.operations.try_release_plain(op))) return receive_matched(d, op, peer, tag, data, size);
  copy_small(static_cast<std::byte*>(buffer), data, size);
  comp->signal(make_status(errorcode_t::done, peer, buffer, size, tag, user_context));
}

/// A send whose matching engine this rank does not have.
LCI_COLD void receive_early_send(device& d, int peer, network::message_head head, const std::byte* data, size_t size) {
  switch (store_early(d, peer, wire::unpack(head), data, size, 0)) {
    case early::stored:
      return;
    case early::allocated:
      return receive_send(d, peer, head, data, size);
    case early::rejected:
      return count_rejected(d);
    case early::no_memory:
      throw_lost(d, "a send", peer, size);
  }
}

/// The copy of a payload: in a packet, in memory of an allocator, or null for an empty message.
struct payload_copy {
  void* buffer = nullptr;
  packet* p = nullptr;
};

void free_copy(device& d, payload_copy copy, allocator_base_t* allocator) {
  if (copy.p != nullptr)
    copy.p->pool->put(copy.p);
  else if (copy.buffer != nullptr)
    d.rt.deallocate(copy.buffer, allocator);
}

[[nodiscard]] LCI_ALWAYS_INLINE inline bool copy_and_signal(device& d, rcomp_table::target to, int peer, tag_t tag,
                                                            const std::byte* data, size_t size) {
  payload_copy copy;
  if (size > 0) {
    // The sender's packets may be larger than ours.
    const bool fits = size <= d.packet_pool.p_impl->payload_size();
    if (to.comp->attr.zero_copy_am && fits) copy.p = d.packet_pool.p_impl->get();
    copy.buffer = copy.p != nullptr ? copy.p->payload() : d.rt.allocate_for_arrival(size, to.allocator);
    if (LCI_UNLIKELY(copy.buffer == nullptr)) return false;
    if (size < cache_line)
      copy_small(static_cast<std::byte*>(copy.buffer), data, size);
    else
      copy_bytes(copy.buffer, data, size);
  }
  const attr_comp_type_t type = to.comp->attr.comp_type;  // the object may be gone when it has thrown
  try {
    to.comp->signal(arrived_status(peer, copy.buffer, size, tag));
    return true;
  } catch (const std::bad_alloc&) {
    if (may_post(type)) throw;
    free_copy(d, copy, to.allocator);
    return false;
  } catch (const resource_error&) {  // a synchronizer that is not tested
    if (!may_post(type)) free_copy(d, copy, to.allocator);
    throw;
  }
}

/// Delivers an active message, whose header precedes the payload, to an object that gets a copy.
LCI_NOINLINE void receive_am_copied(device& d, int peer, const std::byte* message, size_t message_size) {
  network::message_head head;
  std::memcpy(&head, message, sizeof head);
  const rcomp_table::target to = d.rt.rcomps.find_target(wire::word_of(head));
  if (LCI_UNLIKELY(to.comp == nullptr)) return d.receive(peer, message, message_size, nullptr);
  const size_t size = message_size - sizeof head;
  if (LCI_UNLIKELY(!copy_and_signal(d, to, peer, wire::tag_of(head), message + sizeof head, size)))
    throw_lost(d, "an active message", peer, size);
}

/// Pushes the status of a copied message where that may fail. A call at the end, so that no registers need saving.
LCI_NOINLINE void push_or_lose(unbounded_queue& queue, status_t status) {
  try {
    queue.push(status);
  } catch (const std::bad_alloc&) {
    std::free(status.buffer);
    throw uncounted_loss(status.rank, status.size);
  }
}

/// Does the same as receive_am_copied(), with fewer checks, for a completion queue of the default type. Calls
/// receive_am_copied() for empty and large messages, and if the program has set an allocator.
LCI_NOINLINE void receive_for_queue(device& d, unbounded_queue& queue, int peer, const std::byte* message,
                                    size_t message_size) {
  const size_t size = message_size - sizeof(wire::header);
  if (LCI_UNLIKELY(size - 1 >= copy_distance::largest_unaffected || d.rt.allocator() != nullptr))
    return receive_am_copied(d, peer, message, message_size);
  void* const copy = std::malloc(size);
  if (LCI_UNLIKELY(copy == nullptr)) return receive_am_copied(d, peer, message, message_size);
  const std::byte* const data = message + sizeof(wire::header);
  if (LCI_LIKELY(size == sizeof(uint64_t)))
    std::memcpy(copy, data, sizeof(uint64_t));
  else if (size < cache_line)
    copy_small(static_cast<std::byte*>(copy), data, size);
  else
    std::memcpy(copy, data, size);
  uint64_t second;
  std::memcpy(&second, data - sizeof second, sizeof second);
  queue.push_or(arrived_status(peer, copy, size, wire::tag_of(network::message_head{{0, second}})),
                [](unbounded_queue& q, const status_t& status) { push_or_lose(q, status); });
}

}  // namespace

bool deliver_copy(device& d, rcomp_table::target to, int peer, tag_t tag, const std::byte* data, size_t size) {
  return copy_and_signal(d, to, peer, tag, data, size);
}

void device::on_recv(int peer, const std::byte* data, size_t size, void* recv_context) {
  // The most common messages, where the network lends its own buffer: no packet has to be returned afterwards. The
  // others are calls at the end, so that no registers need saving.
  if (LCI_LIKELY(size >= sizeof(wire::header) && recv_context == nullptr)) {
    uint64_t first, second;
    std::memcpy(&first, data, sizeof first);
    std::memcpy(&second, data + sizeof first, sizeof second);
    const network::message_head head{{first, second}};
    if (LCI_LIKELY(wire::is_am(head))) {
      const rcomp_table::delivery how = rt.rcomps.at(wire::word_of(head)).small();
      // This is what how.function() does; to call it would take one more indirect branch.
      if (LCI_LIKELY(how.function == handler::deliver))
        return reinterpret_cast<handler::function>(how.to)(
            arrived_status(peer, data + sizeof head, size - sizeof head, wire::tag_of(head)));
      if (LCI_LIKELY(how.function != nullptr))
        return how.function(how.to, peer, data + sizeof head, size - sizeof head, wire::tag_of(head));
      if (LCI_LIKELY(how.to != nullptr))
        return receive_for_queue(*this, *static_cast<unbounded_queue*>(how.to), peer, data, size);
      return receive_am_copied(*this, peer, data, size);
    }
    if (LCI_LIKELY(wire::is_send(head))) return receive_send(*this, peer, head, data + sizeof head, size - sizeof head);
    if (LCI_LIKELY(wire::is_signal(head)))
      return receive_signal(*this, peer, head, data + sizeof head, size - sizeof head);
    if (LCI_LIKELY(wire::is_ordered_am(head))) return receive_in_stream(*this, peer, data, size);
  }
  receive(peer, data, size, recv_context);
}

// --- all kinds ---

namespace {

using kind_handler = bool (*)(device& d, int peer, wire::message& m);  // false: the message is rejected

/// The handler of each kind. Kinds without one: `none` is invalid, and `am`, which may keep its packet, is handled by
/// device::receive().
constexpr size_t n_kinds = static_cast<size_t>(wire::kind::last) + 1;
struct handler_table {
  std::array<kind_handler, n_kinds> of_kind{};
  std::array<bool, n_kinds> is_set{};  // sanitizers make the comparison of functions with null no constant
};
constexpr handler_table handlers = [] {
  handler_table by_kind;
  const auto set = [&by_kind](wire::kind k, kind_handler h) {
    by_kind.of_kind[static_cast<size_t>(k)] = h;
    by_kind.is_set[static_cast<size_t>(k)] = true;
  };
  set(wire::kind::send, [](device& d, int peer, wire::message& m) {
    receive_send(d, peer, wire::pack(m.head), m.data, m.size);
    return true;
  });
  set(wire::kind::signal, [](device& d, int peer, wire::message& m) {
    receive_signal(d, peer, wire::pack(m.head), m.data, m.size);
    return true;
  });
  set(wire::kind::rts_am, receive_rts);
  set(wire::kind::rts_send, receive_rts);
  set(wire::kind::rtr, receive_rtr);
  set(wire::kind::fin, receive_fin);
  set(wire::kind::fragment, receive_fragment);
  set(wire::kind::put_data, receive_put);
  set(wire::kind::get_request, receive_get);
  set(wire::kind::ack, receive_ack);
  set(wire::kind::am_acked, receive_acked);
  set(wire::kind::send_acked, receive_acked);
  set(wire::kind::atomic_request, receive_atomic);
  set(wire::kind::atomic_reply, receive_atomic_reply);
  set(wire::kind::am_ordered, receive_ordered);
  set(wire::kind::rts_ordered, receive_ordered_rts);
  set(wire::kind::stream_credit, receive_credit);
  set(wire::kind::withdraw, receive_withdrawal);
  set(wire::kind::device_end, receive_device_end);
  set(wire::kind::send_pause, [](device& d, int peer, wire::message& m) { return d.flow.receive(peer, m); });
  return by_kind;
}();

constexpr bool all_kinds_have_handlers() {
  for (size_t k = static_cast<size_t>(wire::kind::am) + 1; k < n_kinds; ++k)
    if (!handlers.is_set[k]) return false;
  return true;
}
static_assert(all_kinds_have_handlers());

/// An active message. If its completion object takes packets, ownership of the packet is transferred to it, and
/// `recv_context` becomes null.
bool receive_am(device& d, int peer, const wire::message& m, void*& recv_context) {
  rcomp_table::target to = d.rt.rcomps.find_target(m.head.word);
  if (LCI_UNLIKELY(to.comp == nullptr)) to = {unlisted_comp(d, m.head.word), nullptr};
  comp_impl_t* const comp = to.comp;
  if (LCI_UNLIKELY(comp == nullptr)) {
    count_rejected(d);
    report_undelivered(d, m.head.word, peer, wire::tag_of(m.head), m.size);
    return true;
  }
  // The program may keep packets for ever, so it does not get those of the reserve.
  const bool takes_packet =
      comp->attr.zero_copy_am && recv_context != nullptr && !d.supply.is_reserved(static_cast<packet*>(recv_context));
  if (!comp->attr.am_in_place && !takes_packet) {
    if (LCI_UNLIKELY(!deliver_copy(d, to, peer, wire::tag_of(m.head), m.data, m.size)))
      throw_lost(d, "an active message", peer, m.size);
    return true;
  }
  void* const carrier = recv_context;
  if (takes_packet) recv_context = nullptr;
  const attr_comp_type_t type = comp->attr.comp_type;  // the object may be gone when it has thrown
  try {
    comp->signal(arrived_status(peer, m.data, m.size, wire::tag_of(m.head)));
  } catch (const std::bad_alloc&) {
    if (may_post(type)) throw;
    recv_context = carrier;  // the status is not stored, so nobody has the packet
    throw_lost(d, "an active message", peer, m.size);
  } catch (const resource_error&) {  // a synchronizer that is not tested
    if (!may_post(type)) recv_context = carrier;
    throw;
  }
  return true;
}

/// Returns the packet that a message came in to its pool unless its ownership was transferred, also when a handler
/// throws.
struct packet_return {
  void*& context;
  ~packet_return() {
    if (LCI_UNLIKELY(context != nullptr)) static_cast<packet*>(context)->pool->put(static_cast<packet*>(context));
  }
};

}  // namespace

void device::receive(int peer, const std::byte* data, size_t size, void* recv_context) {
  if (LCI_UNLIKELY(recv_context != nullptr)) supply.take_received(static_cast<packet*>(recv_context));
  const packet_return guard{recv_context};
  wire::message m;
  if (LCI_UNLIKELY(!wire::decode(data, size, m))) return count_rejected(*this);
  const bool good = m.head.what == wire::kind::am ? receive_am(*this, peer, m, recv_context)
                                                  : handlers.of_kind[static_cast<size_t>(m.head.what)](*this, peer, m);
  if (LCI_UNLIKELY(!good)) count_rejected(*this);
}

}  // namespace lci::core
