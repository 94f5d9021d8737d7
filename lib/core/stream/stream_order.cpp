#include "lib/core/stream/stream_order.hpp"

#include <algorithm>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <utility>

#include "lib/base/memory.hpp"
#include "lib/concurrent/sharded_queue.hpp"
#include "lib/core/device/device.hpp"
#include "lib/core/device/device_visit.hpp"
#include "lib/core/device/receive.hpp"
#include "lib/core/device/sending.hpp"
#include "lib/core/device/signals.hpp"
#include "lib/core/operation/make_status.hpp"
#include "lib/core/stream/handlers.hpp"
#include "lib/core/transfer/transfers.hpp"

namespace lci::core {

namespace {

/// Numbers this far ahead are invalid: no sender's window is as large.
constexpr uint32_t furthest = 1 << 21;

/// Stands for a message that can't be delivered, so that its number is counted.
ordered_message turn_of(ordered_message m) {
  m.comp = 0;
  m.data = nullptr;
  m.owned = true;
  m.acked = false;
  return m;
}

}  // namespace

incoming_stream::~incoming_stream() {
  for (const auto& [number, m] : waiting_) drop(m);
}

void incoming_stream::begin_anew() {
  std::map<uint32_t, ordered_message> lost;
  {
    std::lock_guard guard(lock_);
    lost.swap(waiting_);
    ++connection_;
    next_ = 0;
    bytes_ = 0;
    lost_ = {};
    n_lost_ = 0;
    // A thread that is delivering sees the new connection_ and stops.
    n_outdated_ += delivering_ ? 1 : 0;
    delivering_ = false;
    look_for_disturbance();
  }
  for (const auto& [number, m] : lost) drop(m);
}

bool incoming_stream::keep_copy(ordered_message& m) {
  const rcomp_table::target to = rt_.rcomps.find_target(m.comp);
  m.allocator = to.comp == nullptr ? nullptr : to.allocator;
  void* copy = m.size > 0 ? rt_.allocate_for_arrival(m.size, m.allocator) : nullptr;
  if (copy == nullptr && m.size > 0) return false;
  if (m.size > 0) std::memcpy(copy, m.data, m.size);
  m.data = copy;
  m.owned = true;
  return true;
}

resource_error incoming_stream::report_lost(device& d, const ordered_message& m) {
  resource_error lost = count_lost(d, "a message of a stream", peer_, m.size);
  if (!m.acked) return lost;
  const device_visit by(d.rt, m.device_uid, &d);
  if (by.get() != nullptr) send_ack(*by.get(), peer_, m.operation, wire::no_memory);
  return lost;
}

bool incoming_stream::arrive_without_memory(device& d, uint32_t number, const ordered_message& m) {
  const resource_error lost = report_lost(d, m);
  if (!arrive(d, number, turn_of(m))) return false;
  if (!m.acked) throw lost;
  return true;
}

bool incoming_stream::is_lost(uint32_t number) const {
  return std::any_of(lost_.begin(), lost_.end(), [=](const lost_turns& l) { return number - l.first < l.count; });
}

bool incoming_stream::note_lost(uint32_t number, const ordered_message& m) {
  const auto takes = [=](const lost_turns& l) { return l.count > 0 && l.first + l.count == number; };
  auto at = std::find_if(lost_.begin(), lost_.end(), takes);
  if (at == lost_.end()) {
    at = std::find_if(lost_.begin(), lost_.end(), [](const lost_turns& l) { return l.count == 0; });
    if (at == lost_.end()) return false;
    *at = {number, 0, 0, false};
    ++n_lost_;
    look_for_disturbance();
  }
  ++at->count;
  at->bytes += m.size;
  at->asks |= m.asks;
  return true;
}

bool incoming_stream::pass_lost() {
  bool asks = false;
  const auto is_next = [this](const lost_turns& l) { return l.count > 0 && l.first == next_; };
  for (auto l = lost_.begin(); n_lost_ > 0 && (l = std::find_if(lost_.begin(), lost_.end(), is_next)) != lost_.end();
       *l = {}, --n_lost_) {
    next_ += l->count;
    bytes_ += l->bytes;
    asks |= l->asks;
  }
  return asks;
}

void incoming_stream::drop(const ordered_message& m) {
  if (m.owned && m.data != nullptr) rt_.deallocate(m.data, m.allocator);
}

bool incoming_stream::arrive(device& d, uint32_t number, ordered_message m) {
  uint32_t connection;
  {
    std::unique_lock guard(lock_);
    if (!is_turn(number) && !m.owned) {
      guard.unlock();
      if (!keep_copy(m)) return arrive_without_memory(d, number, m);
      guard.lock();
    }
    if (!is_turn(number)) {
      // The number that is being delivered now is not expected either.
      const bool expected = number - next_ < furthest && !(delivering_ && number == next_) && !is_lost(number);
      bool counted = false;
      try {
        if (expected && insist_on_memory([&] { return waiting_.emplace(number, m).second; })) {
          look_for_disturbance();
          return true;
        }
      } catch (const std::bad_alloc&) {
        counted = note_lost(number, m);
        if (!counted) {
          guard.unlock();
          drop(m);
          throw;
        }
      }
      guard.unlock();
      drop(m);
      if (!counted || m.comp == 0) return counted;
      const resource_error lost = report_lost(d, m);
      if (!m.acked) throw lost;
      return true;
    }
    delivering_ = true;
    connection = connection_;
  }
  take_turns(d, m, connection, nullptr);
  return true;
}

LCI_ALWAYS_INLINE inline bool incoming_stream::deliver_at_once(device& d, am_handler_t function, void* to,
                                                               uint32_t number, int peer, const std::byte* data,
                                                               size_t size, tag_t tag) {
  const bool begins_locked = lock_.lock_unless_alone();
  const bool is_next = is_turn(number);
  const uint32_t connection = connection_;
  if (LCI_LIKELY(is_next)) delivering_ = true;
  if (begins_locked) lock_.unlock();
  if (LCI_UNLIKELY(!is_next)) return false;
  try {
    const pushes_in_order mark;
    function(to, peer, data, size, tag);
  } catch (...) {
    end_turns_by_exception(d, size, connection);
  }
  const bool ends_locked = lock_.lock_unless_alone();  // a thread may have been created meanwhile
  const bool is_simple = !disturbed_;
  if (LCI_LIKELY(is_simple)) {
    ++next_;
    bytes_ += size;
    delivering_ = false;
  }
  if (ends_locked) lock_.unlock();
  if (LCI_UNLIKELY(!is_simple)) end_turns(d, size, connection);
  return true;
}

void incoming_stream::end_turns(device& d, size_t size, uint32_t connection) {
  ordered_message m;
  m.size = size;
  if (end_turn(d, m, connection)) take_turns(d, m, connection, nullptr);
}

void incoming_stream::end_turns_by_exception(device& d, size_t size, uint32_t connection) {
  ordered_message m;
  m.size = size;
  if (end_turn(d, m, connection)) take_turns(d, m, connection, std::current_exception());
  throw;
}

void incoming_stream::take_turns(device& d, ordered_message m, uint32_t connection, std::exception_ptr thrown) {
  do {
    try {
      deliver(d, m);
    } catch (...) {
      // A handler that throws must not stop the stream. The first exception is thrown to the caller.
      if (thrown == nullptr) {
        thrown = std::current_exception();
      } else {
        d.failures.add_exception(std::current_exception());
      }
    }
  } while (end_turn(d, m, connection));
  if (thrown != nullptr) std::rethrow_exception(thrown);
}

bool incoming_stream::end_turn(device& d, ordered_message& m, uint32_t connection) {
  bool asks = m.asks;
  bool more = false;
  wire::header credit;
  {
    std::lock_guard guard(lock_);
    if (connection != connection_) {
      --n_outdated_;
      look_for_disturbance();
      return false;
    }
    ++next_;
    bytes_ += m.size;
    asks |= pass_lost();
    credit.word = next_;
    credit.tag = bytes_;
    const auto waiting = waiting_.find(next_);
    more = waiting != waiting_.end();
    if (more) {
      m = waiting->second;
      waiting_.erase(waiting);
    } else {
      delivering_ = false;
    }
    look_for_disturbance();
  }
  if (asks) {
    credit.what = wire::kind::stream_credit;
    credit.engine = id_;
    send_or_queue(d, peer_, credit);
  }
  return more;
}

void incoming_stream::deliver(device& d, const ordered_message& m) {
  const rcomp_table::target to = m.comp == 0 ? rcomp_table::target{nullptr, nullptr} : rt_.rcomps.find_target(m.comp);
  comp_impl_t* const comp = to.comp;
  // A destructor: the message has been delivered even if the handler throws.
  struct answer {
    device& d;
    int peer;
    const ordered_message& m;
    uint8_t policy;
    ~answer() {
      if (!m.acked) return;
      const device_visit by(d.rt, m.device_uid, &d);
      if (by.get() != nullptr) send_ack(*by.get(), peer, m.operation, policy);
    }
  } at_end{d, peer_, m, comp != nullptr ? uint8_t{0} : wire::refused};
  if (comp == nullptr) return drop(m);
  const pushes_in_order mark;  // queues keep the stream's order, whichever thread delivers
  const bool runs_code = may_post(comp->attr.comp_type);
  const auto lose = [&] {
    at_end.policy = wire::no_memory;
    resource_error lost = count_lost(d, "a message of a stream", peer_, m.size);
    if (!m.acked) throw lost;
  };
  struct release {
    incoming_stream& of;
    const ordered_message* m;
    ~release() {
      if (m != nullptr) of.drop(*m);
    }
  } after{*this, comp->attr.am_in_place ? &m : nullptr};
  try {
    if (m.owned || comp->attr.am_in_place)
      comp->signal(make_status(errorcode_t::done, peer_, m.data, m.size, m.tag, nullptr));
    else if (LCI_UNLIKELY(!deliver_copy(d, to, peer_, m.tag, static_cast<const std::byte*>(m.data), m.size)))
      lose();
  } catch (const std::bad_alloc&) {
    if (runs_code) throw;
    after.m = &m;
    lose();
  } catch (const resource_error&) {
    if (runs_code || at_end.policy != 0) throw;
    after.m = &m;
    at_end.policy = wire::no_memory;
    count_undelivered(d, peer_, m.size);
    if (!m.acked) throw;
  }
}

void ordered_transfer::signal(status_t status) {
  const std::unique_ptr<ordered_transfer> self(this);
  if (status.is_done()) {
    message_.data = status.buffer;
    message_.owned = true;
  } else {
    // The peer has failed and this message is incomplete: no later one can be delivered in order.
    if (device_.failures.may_be_any() && device_.failures.has_failed(status.rank)) return;
    message_.comp = 0;
    message_.owned = true;  // there is no payload to copy
  }
  (void)in_.arrive(device_, number_, message_);
}

bool receive_ordered(device& d, int peer, wire::message& m) {
  ordered_message message;
  const uint32_t number = wire::number_of(m.head);
  message.comp = m.head.word;
  message.tag = static_cast<uint32_t>(m.head.tag);
  message.asks = (m.head.policy & wire::asks_credit) != 0;
  message.device_uid = d.attr.uid;
  wire::ack_body ack;
  if ((m.head.policy & wire::ack_follows) != 0) {
    if (!wire::take_body(m, ack)) return false;
    message.acked = true;
    message.operation = static_cast<uint32_t>(ack.operation);
  }
  message.data = const_cast<std::byte*>(m.data);
  message.size = m.size;
  return insist_on_memory([&]() -> incoming_stream& { return d.rt.streams.incoming(peer, m.head.engine); })
      .arrive(d, number, message);
}

void receive_in_stream(device& d, int peer, const std::byte* message, size_t message_size) {
  uint64_t first, second;
  std::memcpy(&first, message, sizeof first);
  std::memcpy(&second, message + sizeof first, sizeof second);
  const network::message_head head{{first, second}};
  const rcomp_table::delivery to = d.rt.rcomps.at(wire::word_of(head)).small();
  incoming_stream* const in = d.rt.streams.find_incoming(peer, wire::engine_of(head));
  if (LCI_UNLIKELY(to.function == nullptr || in == nullptr || wire::asks_for_credit(head)) ||
      LCI_UNLIKELY(!in->deliver_at_once(d, to.function, to.to, wire::number_of(head), peer, message + sizeof head,
                                        message_size - sizeof head, wire::tag_of(head))))
    d.receive(peer, message, message_size, nullptr);
}

bool receive_ordered_rts(device& d, int peer, wire::message& m) {
  wire::rts_body body;
  if (!wire::take_body(m, body)) return false;
  incoming_stream& in =
      insist_on_memory([&]() -> incoming_stream& { return d.rt.streams.incoming(peer, m.head.engine); });
  ordered_message message;
  message.comp = m.head.word;
  message.tag = static_cast<uint32_t>(m.head.tag);
  message.size = body.size;
  message.asks = (m.head.policy & wire::asks_credit) != 0;
  message.device_uid = d.attr.uid;
  const uint32_t number = wire::number_of(m.head);
  const rcomp_table::target to = d.rt.rcomps.find_target(m.head.word);
  const bool wanted = to.comp != nullptr;
  operation* op = wanted ? d.rt.operations.allocate() : nullptr;
  message.acked = (body.operation & wire::wants_ack) != 0;
  message.operation = static_cast<uint32_t>(body.operation);
  message.allocator = to.allocator;
  void* buffer = nullptr;
  std::unique_ptr<ordered_transfer> transfer;
  if (op != nullptr) try {
      transfer = insist_on_memory([&] { return std::make_unique<ordered_transfer>(d, in, number, message); });
      if (body.size > 0) buffer = d.rt.allocate_for_arrival(body.size, to.allocator);
    } catch (const std::bad_alloc&) {
    }
  if (transfer == nullptr || (buffer == nullptr && body.size > 0)) {
    if (op != nullptr) d.rt.operations.release(op);
    if (wanted) count_undelivered(d, peer, body.size);
    (void)refuse(d, peer, body.operation, wanted ? wire::no_memory : wire::refused);
    return in.arrive(d, number, turn_of(message));  // so that later messages do not wait for ever
  }
  op->comp = transfer.release();
  op->status.buffer = buffer;
  op->status.size = body.size;
  op->allocator = to.allocator;
  op->allocated = op->ordered = true;
  start_receive(d, op, peer, message.tag, body);
  return true;
}

}  // namespace lci::core
