// What happens with a message that has come, by its kind.
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

#include "lib/base/check.hpp"
#include "lib/base/memory.hpp"
#include "lib/base/race_detector.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/operation/fill_receive.hpp"
#include "lib/core/operation/make_status.hpp"

namespace lci::core {

namespace {

/// Returns the packet that a message came in unless it was handed on, also when a handler throws.
struct packet_return {
  void*& context;
  ~packet_return() {
    if (LCI_UNLIKELY(context != nullptr))
      static_cast<packet*>(context)->pool->put(static_cast<packet*>(context));
  }
};

inline status_t arrived(int peer, const void* buffer, size_t size, tag_t tag) {
  return make_status(errorcode_t::done, peer, buffer, size, tag, nullptr);
}

/// A posted receive has met its message.
LCI_ALWAYS_INLINE inline void end_receive(runtime& rt, operation* op, int peer, tag_t tag, const std::byte* data,
                                          size_t size) {
  const status_t status = fill_receive(*op, peer, tag, data, size);
  comp_impl_t* comp = op->comp;
  rt.operations.release(op);
  if (comp != nullptr) comp->signal(status);
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
      const rcomp_table::target to = rt.rcomps.find_target(wire::word_of(head));
      if (LCI_LIKELY(to.comp != nullptr)) {
        data += sizeof head;
        size -= sizeof head;
        if (to.comp->attr.am_in_place)
          to.comp->signal(arrived(peer, data, size, wire::tag_of(head)));
        else if (LCI_UNLIKELY(!deliver_copy(to, peer, wire::tag_of(head), data, size)))
          lose("an active message", peer, size);
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
    case wire::kind::device_end:
      return receive_device_end(peer, m);
    case wire::kind::send_pause:
      return flow.receive(peer, m);
    case wire::kind::none:
      break;
  }
  return false;
}

bool device::receive_am(int peer, const wire::message& m, void*& recv_context) {
  rcomp_table::target to = rt.rcomps.find_target(m.head.word);
  if (LCI_UNLIKELY(to.comp == nullptr)) to = {unlisted_comp(m.head.word), nullptr};
  comp_impl_t* const comp = to.comp;
  if (LCI_UNLIKELY(comp == nullptr)) return false;
  // The program may keep packets for ever: those of the reserve it does not get.
  const bool packet_goes_on = comp->attr.zero_copy_am && recv_context != nullptr &&
                              !is_reserved(static_cast<packet*>(recv_context));
  if (!comp->attr.am_in_place && !packet_goes_on) {
    if (LCI_UNLIKELY(!deliver_copy(to, peer, wire::tag_of(m.head), m.data, m.size)))
      lose("an active message", peer, m.size);
    return true;
  }
  if (packet_goes_on) recv_context = nullptr;  // it changes hands
  comp->signal(arrived(peer, m.data, m.size, wire::tag_of(m.head)));
  return true;
}

void device::count_undelivered(int peer, size_t size) {
  if (observer != nullptr && observer->counts != nullptr)
    observer->counts->add(counted::no_memory, peer, size);
}

resource_error device::lost(const char* what, int peer, size_t size) {
  count_undelivered(peer, size);
  return lost_message(what, peer, size);
}

bool device::deliver_copy(rcomp_table::target to, int peer, tag_t tag, const std::byte* data,
                          size_t size) {
  void* buffer = nullptr;
  packet* p = nullptr;
  if (size > 0) {
    // The sender's packets may be larger than ours.
    const bool fits = size <= packet_pool.p_impl->payload_size();
    if (to.comp->attr.zero_copy_am && fits) p = packet_pool.p_impl->get();
    buffer = p != nullptr ? p->payload() : rt.allocate(size, to.allocator);
    if (LCI_UNLIKELY(buffer == nullptr)) return false;
    std::memcpy(buffer, data, size);
  }
  const attr_comp_type_t type = to.comp->attr.comp_type;  // the object may be gone when it has thrown
  const auto take_back = [&] { p != nullptr ? p->pool->put(p) : rt.deallocate(buffer, to.allocator); };
  try {
    to.comp->signal(arrived(peer, buffer, size, tag));
    return true;
  } catch (const std::bad_alloc&) {
    if (may_post(type)) throw;
    if (buffer != nullptr) take_back();
    return false;
  } catch (const resource_error&) {  // a synchronizer that is not tested
    if (!may_post(type) && buffer != nullptr) take_back();
    throw;
  }
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
    if (LCI_UNLIKELY(!file_unexpected(*engine, key, peer, tag, data, size, 0, match)))
      lose("a send", peer, size);
    if (match == nullptr) return;
  }
  end_receive(rt, static_cast<operation*>(match), peer, tag, data, size);
}

namespace {

/// Null if there is no memory for it, also after a while.
unexpected* allocate_unexpected(size_t payload) {
  void* memory = std::malloc(sizeof(unexpected) + payload);
  for (int n = 1; LCI_UNLIKELY(memory == nullptr) && n < memory_tries; ++n) {
    await_memory();
    memory = std::malloc(sizeof(unexpected) + payload);
  }
  return memory == nullptr ? nullptr : new (memory) unexpected{};
}

}  // namespace

bool device::file_unexpected(matching_engine& engine, uint64_t key, unexpected* u, void*& match) {
  try {
    match = insist_on_memory([&] { return engine.insert(key, u, matching_entry_type_t::send); });
    return true;
  } catch (const std::bad_alloc&) {
    free_unexpected(this, u);
    return false;
  }
}

bool device::file_unexpected(matching_engine& engine, uint64_t key, int peer, tag_t tag, const std::byte* data,
                             size_t size, uint64_t ack, void*& match) {
  unexpected* const u = allocate_unexpected(size);
  if (LCI_UNLIKELY(u == nullptr)) return false;
  *u = {peer, tag, size, false, false, attr.uid, {0, 0, 0, ack}};
  if (size > 0) std::memcpy(u->payload(), data, size);
  flow.count(peer, u->memory());  // before another thread can take it
  if (LCI_UNLIKELY(!file_unexpected(engine, key, u, match))) return false;
  if (LCI_UNLIKELY(match != nullptr)) free_unexpected(this, u);
  return true;
}

bool device::receive_acked(int peer, wire::message& m) {
  wire::ack_body body;
  if (!wire::take_body(m, body)) return false;
  enum class state { waits, delivered, no_memory } now = state::waits;
  // Also if a handler throws: the message has been delivered to it. What any other object throws, or an
  // allocator, says that it has not.
  struct answer {
    device& by;
    int peer;
    uint64_t operation;
    const state& now;
    ~answer() {
      if (now != state::waits)
        by.send_ack(peer, operation, now == state::delivered ? uint8_t{0} : wire::no_memory);
    }
  } const answer{*this, peer, body.operation, now};
  const auto fail_for_lack_of_memory = [&] {
    now = state::no_memory;
    count_undelivered(peer, m.size);
  };
  if (m.head.what == wire::kind::am_acked) {
    const rcomp_table::target to = rt.rcomps.find_target(m.head.word);
    if (to.comp == nullptr) return send_ack(peer, body.operation, wire::refused), false;
    now = state::delivered;
    const attr_comp_type_t type = to.comp->attr.comp_type;
    try {
      if (to.comp->attr.am_in_place)
        to.comp->signal(arrived(peer, m.data, m.size, wire::tag_of(m.head)));
      else if (!deliver_copy(to, peer, wire::tag_of(m.head), m.data, m.size))
        fail_for_lack_of_memory();
    } catch (const resource_error&) {
      if (may_post(type)) throw;
      fail_for_lack_of_memory();
    }
    return true;
  }
  matching_engine* engine = rt.engines.get(m.head.engine);
  if (engine == nullptr) return send_ack(peer, body.operation, wire::refused), false;
  const uint64_t key =
      engine->make_key(peer, wire::tag_of(m.head), static_cast<matching_policy_t>(m.head.policy));
  void* match = engine->take(key, matching_entry_type_t::recv);
  if (match == nullptr &&
      !file_unexpected(*engine, key, peer, wire::tag_of(m.head), m.data, m.size, body.operation, match))
    fail_for_lack_of_memory();
  if (match == nullptr) return true;  // the thread that posts the receive sends the ack
  now = state::delivered;
  auto* const op = static_cast<operation*>(match);
  const bool keeps_status = op->comp != nullptr && !may_post(op->comp->attr.comp_type);
  try {
    end_receive(rt, op, peer, wire::tag_of(m.head), m.data, m.size);
  } catch (...) {
    // The data is there, but nobody will be told: an error at both ends.
    if (keeps_status) fail_for_lack_of_memory();
    throw;
  }
  return true;
}

bool device::refuse(int peer, uint64_t operation, uint8_t policy) {
  send_fin(peer, operation, policy);
  return false;
}

bool device::must_wait(const receive_window::request& r) {
  return receive_window.is_full_of(r.peer) && net->attention_of(r.peer) != network::attention::unknown;
}

bool device::start_waiting_requests() {
  bool any = false;
  for (receive_window::request r; receive_window.take(r, [this](const auto& oldest) { return !must_wait(oldest); });
       any = true) {
    struct ending {  // also if a handler throws
      std::atomic<int64_t>& pending;
      ~ending() { pending.fetch_sub(1, std::memory_order_release); }
    } const at_end{pending};
    (void)receive_large_am(r);
  }
  return any;
}

void* device::allocate_payload(size_t size, bool in_place, allocator_base_t* allocator) {
  // With an allocator of its own the program decides where payloads lie.
  const bool own = allocator != nullptr || rt.allocator() != nullptr;
  void* kept = in_place && !own ? buffer_cache.take(size) : nullptr;
  return kept != nullptr ? kept : rt.allocate(size, allocator);
}

bool device::receive_large_am(const receive_window::request& r) {
  const rcomp_table::target to = rt.rcomps.find_target(r.comp);
  if (to.comp == nullptr) return refuse(r.peer, r.rts.operation);
  operation* op = rt.operations.allocate();
  if (op != nullptr) {
    op->comp = to.comp;
    op->in_place = to.comp->attr.am_in_place;
    op->allocator = to.allocator;
    op->status.buffer = allocate_payload(r.rts.size, op->in_place, to.allocator);
  }
  if (op == nullptr || op->status.buffer == nullptr) {
    if (op != nullptr) rt.operations.release(op);
    count_undelivered(r.peer, r.rts.size);
    (void)refuse(r.peer, r.rts.operation, wire::no_memory);
    return true;  // nothing was wrong with the message
  }
  op->status.size = r.rts.size;
  op->allocated = true;
  start_receive(op, r.peer, r.tag, r.rts);
  return true;
}

bool device::receive_rts(int peer, wire::message& m) {
  wire::rts_body body;
  if (!wire::take_body(m, body)) return false;
  if (m.head.what == wire::kind::rts_am) {
    const receive_window::request request{peer, wire::tag_of(m.head), m.head.word, body};
    if (!must_wait(request)) return receive_large_am(request);
    pending.fetch_add(1, std::memory_order_relaxed);  // a drained device has delivered what had come
    receive_window.wait(request);
    return true;
  }
  matching_engine* engine = rt.engines.get(m.head.engine);
  if (engine == nullptr) engine = unlisted_engine(m.head.engine);
  if (engine == nullptr) return refuse(peer, body.operation);
  const auto policy = static_cast<matching_policy_t>(m.head.policy);
  const uint64_t key = engine->make_key(peer, wire::tag_of(m.head), policy);
  const auto refuse_for_lack_of_memory = [&] {
    count_undelivered(peer, body.size);
    (void)refuse(peer, body.operation, wire::no_memory);
    return true;
  };
  unexpected* const u = allocate_unexpected(0);
  if (LCI_UNLIKELY(u == nullptr)) return refuse_for_lack_of_memory();
  const bool late = closing() || (LCI_UNLIKELY(failures.may_be_any()) && failures.is_closing(peer));
  *u = {peer, wire::tag_of(m.head), body.size, true, late, attr.uid, body};
  flow.count(peer, u->memory());
  void* match = nullptr;
  if (LCI_UNLIKELY(!file_unexpected(*engine, key, u, match))) return refuse_for_lack_of_memory();
  if (LCI_UNLIKELY(late)) {
    (void)refuse(peer, body.operation, wire::cancelled);
    if (match != nullptr) cancel_receive(static_cast<operation*>(match), peer, wire::tag_of(m.head));
  }
  if (match == nullptr) return true;
  free_unexpected(this, u);
  if (LCI_UNLIKELY(late)) return true;
  start_receive(static_cast<operation*>(match), peer, wire::tag_of(m.head), body);
  return true;
}

}  // namespace lci::core
