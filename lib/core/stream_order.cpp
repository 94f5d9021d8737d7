#include "lib/core/stream_order.hpp"

#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>

#include "lib/concurrent/sharded_queue.hpp"
#include "lib/core/device.hpp"
#include "lib/core/make_status.hpp"

namespace lci::core {

namespace {

/// Numbers further ahead than any sender's window are not of ours.
constexpr uint32_t furthest = 1 << 21;

void* copied(runtime& rt, const void* data, size_t size) {
  void* copy = rt.allocate(size);
  if (copy == nullptr) throw std::bad_alloc();
  std::memcpy(copy, data, size);
  return copy;
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
    delivering_ = false;  // who still does sees that its turns are over
  }
  for (const auto& [number, m] : lost) drop(m);
}

void incoming_stream::drop(const ordered_message& m) {
  if (m.owned && m.data != nullptr) rt_.deallocate(m.data);
}

bool incoming_stream::arrive(device& d, uint32_t number, ordered_message m) {
  uint32_t connection;
  {
    std::unique_lock guard(lock_);
    if (!is_turn(number) && !m.owned) {
      guard.unlock();
      m.data = m.size > 0 ? copied(rt_, m.data, m.size) : nullptr;
      m.owned = true;
      guard.lock();
    }
    if (!is_turn(number)) {
      // Not the number that is just being delivered, either.
      const bool expected = number - next_ < furthest && !(delivering_ && number == next_);
      if (expected && waiting_.emplace(number, m).second) return true;
      guard.unlock();
      drop(m);
      return false;
    }
    delivering_ = true;
    connection = connection_;
  }
  take_turns(d, m, connection);
  return true;
}

void incoming_stream::take_turns(device& d, ordered_message m, uint32_t connection) {
  std::exception_ptr thrown;
  for (bool more = true; more;) {
    try {
      deliver(d, m);
    } catch (...) {
      // A handler that throws must not stop the stream: the first is the caller's.
      if (thrown == nullptr) {
        thrown = std::current_exception();
      } else {
        d.keep_exception(std::current_exception());
      }
    }
    const bool asks = m.asks;
    wire::header credit;
    {
      std::lock_guard guard(lock_);
      if (connection != connection_) break;
      ++next_;
      bytes_ += m.size;
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
    }
    if (!asks) continue;
    credit.what = wire::kind::stream_credit;
    credit.engine = id_;
    d.send_or_queue(peer_, credit);
  }
  if (thrown != nullptr) std::rethrow_exception(thrown);
}

void incoming_stream::deliver(device& d, const ordered_message& m) {
  comp_impl_t* comp = m.comp == 0 ? nullptr : rt_.rcomps.lookup(m.comp);
  // Also if the handler throws: the message has been delivered to it.
  struct answer {
    runtime& rt;
    int peer;
    const ordered_message& m;
    bool delivered;
    ~answer() {
      device* by = m.acked ? rt.devices.get(static_cast<size_t>(m.device_uid)) : nullptr;
      if (by != nullptr) by->send_ack(peer, m.operation, delivered ? 0 : wire::refused);
    }
  } const at_end{rt_, peer_, m, comp != nullptr};
  if (comp == nullptr) return drop(m);
  const pushes_in_order mark;  // the stream's order, whichever thread delivers
  if (!m.owned && !comp->attr.am_in_place)
    return d.deliver_copy(comp, peer_, m.tag, static_cast<const std::byte*>(m.data), m.size);
  struct release {
    incoming_stream& of;
    const ordered_message* m;
    ~release() {
      if (m != nullptr) of.drop(*m);
    }
  } const after{*this, comp->attr.am_in_place ? &m : nullptr};
  comp->signal(make_status(errorcode_t::done, peer_, m.data, m.size, m.tag, nullptr));
}

void ordered_transfer::signal(status_t status) {
  const std::unique_ptr<ordered_transfer> self(this);
  if (status.is_done()) {
    message_.data = status.buffer;
    message_.owned = true;
  } else {
    // After a message that a dead peer has left behind in parts, there are none in order.
    if (device_.may_have_failed() && device_.has_failed(status.rank)) return;
    message_.comp = 0;
    message_.owned = true;  // there is nothing to be kept of it
  }
  (void)in_.arrive(device_, number_, message_);
}

bool device::receive_ordered(int peer, wire::message& m) {
  ordered_message message;
  const uint32_t number = wire::number_of(m.head);
  message.comp = m.head.word;
  message.tag = static_cast<uint32_t>(m.head.tag);
  message.asks = (m.head.policy & wire::asks_credit) != 0;
  message.device_uid = attr.uid;
  wire::ack_body ack;
  if ((m.head.policy & wire::ack_follows) != 0) {
    if (!wire::take_body(m, ack)) return false;
    message.acked = true;
    message.operation = static_cast<uint32_t>(ack.operation);
  }
  message.data = const_cast<std::byte*>(m.data);
  message.size = m.size;
  return rt.streams.incoming(peer, m.head.engine).arrive(*this, number, message);
}

bool device::receive_ordered_rts(int peer, wire::message& m) {
  wire::rts_body body;
  if (!wire::take_body(m, body)) return false;
  incoming_stream& in = rt.streams.incoming(peer, m.head.engine);
  ordered_message message;
  message.comp = m.head.word;
  message.tag = static_cast<uint32_t>(m.head.tag);
  message.size = body.size;
  message.asks = (m.head.policy & wire::asks_credit) != 0;
  message.device_uid = attr.uid;
  const uint32_t number = wire::number_of(m.head);
  operation* op = rt.rcomps.lookup(m.head.word) == nullptr ? nullptr : rt.operations.allocate();
  void* buffer = op == nullptr ? nullptr : rt.allocate(body.size);
  if (buffer == nullptr) {
    if (op != nullptr) rt.operations.release(op);
    (void)refuse(peer, body.operation);
    message.comp = 0;  // those behind it are not to wait for ever
    message.owned = true;
    return in.arrive(*this, number, message);
  }
  message.acked = (body.operation & wire::wants_ack) != 0;
  message.operation = static_cast<uint32_t>(body.operation);
  op->comp = new ordered_transfer(*this, in, number, message);
  op->status.buffer = buffer;
  op->status.size = body.size;
  op->allocated = op->ordered = true;
  start_receive(op, peer, message.tag, body);
  return true;
}

}  // namespace lci::core
