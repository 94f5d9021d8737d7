#include "lib/core/observe/observed_network.hpp"

#include "lib/core/wire/wire.hpp"

namespace lci::core {

namespace {

/// What the observer records of a message, whatever protocol carries it.
struct seen_message {
  wire::kind what = wire::kind::none;                        // none: not a message of this library
  counted sent = counted::count, received = counted::count;  // count: internal to the library, not counted
  bool rendezvous = false;
  uint64_t size = 0;  // of the user's data
  uint64_t tag = 0;
  uint64_t number = 0;  // in its sender's trace; of a stream's message, in the stream; 0: it has none
};

/// Messages of a stream have numbers without a trace.
uint64_t number_of(const wire::header& head, bool ordered) {
  if (ordered) return uint64_t{1} << 63 | uint64_t{head.engine} << 32 | wire::number_of(head);
  return wire::may_have_number(head.what) ? head.tag >> 32 : 0;
}

/// Chooses the counters that the message adds to, by its kind. Kinds that no counter counts are left as they are.
void set_counters(seen_message& seen) {
  switch (seen.what) {
    case wire::kind::am:
    case wire::kind::am_acked:
    case wire::kind::am_ordered:
    case wire::kind::rts_am:
    case wire::kind::rts_ordered:
      seen.sent = counted::am_sent, seen.received = counted::am_received;
      break;
    case wire::kind::send:
    case wire::kind::send_acked:
    case wire::kind::rts_send:
      seen.sent = counted::send_sent, seen.received = counted::send_received;
      break;
    case wire::kind::signal:
      seen.sent = counted::signal_sent, seen.received = counted::signal_received;
      break;
    default:
      break;
  }
}

/// `bytes` are the first `known` of `size` bytes.
seen_message look_at(const std::byte* bytes, size_t known, size_t size) {
  seen_message seen;
  wire::message m;
  if (!wire::decode(bytes, known, m)) return seen;
  seen.what = m.head.what;
  const bool ordered = m.head.what == wire::kind::am_ordered || m.head.what == wire::kind::rts_ordered;
  seen.tag = ordered || wire::may_have_number(m.head.what) ? wire::tag_of(m.head) : m.head.tag;
  seen.number = number_of(m.head, ordered);
  seen.size = size - sizeof(wire::header);
  wire::ack_body ack;
  wire::rts_body rts;
  wire::signal_body signal;
  bool whole = true;
  switch (m.head.what) {
    case wire::kind::am_acked:
    case wire::kind::send_acked:
      whole = wire::take_body(m, ack);
      seen.size -= whole ? sizeof ack : 0;
      break;
    case wire::kind::am_ordered:
      if ((m.head.policy & wire::ack_follows) == 0) break;
      whole = wire::take_body(m, ack);
      seen.size -= whole ? sizeof ack : 0;
      break;
    case wire::kind::rts_am:
    case wire::kind::rts_ordered:
    case wire::kind::rts_send:
      whole = wire::take_body(m, rts);
      seen.size = whole ? rts.size : 0;
      seen.rendezvous = true;
      break;
    case wire::kind::signal:
      whole = wire::take_body(m, signal);
      seen.size = whole ? signal.size : 0;
      break;
    default:
      break;
  }
  if (whole) set_counters(seen);
  return seen;
}

void count_sent(device_observer& o, int peer, const seen_message& m, errorcode_t result) {
  if (o.counts == nullptr) return;
  if (result == errorcode_t::retry_lock) o.counts->add(counted::busy_send, peer, m.size);
  if (m.sent == counted::count) return;
  if (result != errorcode_t::done && result != errorcode_t::posted) return;
  o.counts->add(m.sent, peer, m.size);
  if (m.rendezvous) o.counts->add(counted::rendezvous_sent, peer, m.size);
}

/// Numbers a message before it is sent, if there is a trace; `tag` is that of its header.
void give_number(const device_observer& o, seen_message& m, uint64_t& tag) {
  if (o.trace == nullptr || !wire::may_have_number(m.what)) return;
  m.number = tracer::next_message();
  tag = m.tag | m.number << 32;
}

/// Numbers a message before it is sent or waits, if there is a trace and it has no number yet.
void give_number(const device_observer& o, seen_message& m, std::byte* message) {
  if (m.number != 0) return;
  uint64_t tag = 0;
  give_number(o, m, tag);
  if (m.number != 0) std::memcpy(message + offsetof(wire::header, tag), &tag, sizeof tag);
}

/// The message is the one of the calling thread's post, unless an earlier one is.
void note_number(const device_observer& o, const seen_message& m) {
  if (o.trace != nullptr && tracer::sent_message == 0) tracer::sent_message = m.number;
}

void note_departure(const device_observer& o, const seen_message& m, errorcode_t result) {
  if (result == errorcode_t::done || result == errorcode_t::posted) note_number(o, m);
}

/// Reports the events of one call of poll() to the observer.
class watching_sink final : public network::event_sink {
 public:
  watching_sink(network::event_sink& behind, device_observer& observer) : behind_(behind), observer_(observer) {}

  void on_recv(int peer, const std::byte* data, size_t size, void* recv_context) override {
    const seen_message m = look_at(data, size, size);
    if (observer_.counts != nullptr && m.received != counted::count) {
      observer_.counts->add(m.received, peer, m.size);
      if (m.rendezvous) observer_.counts->add(counted::rendezvous_received, peer, m.size);
    }
    // A destructor, so that the event is recorded also if a handler throws.
    struct ending {
      device_observer& o;
      int peer;
      const seen_message& m;
      uint64_t begin;
      ~ending() {
        if (o.trace == nullptr) return;
        trace_event e{trace_event::type::arrival, static_cast<uint8_t>(m.what)};
        e.peer = peer;
        e.device = o.device;
        e.begin = begin;
        e.end = tracer::now();
        e.size = m.size;
        e.tag = m.tag;
        e.message = m.number;
        o.trace->add(e);
      }
    } const at_end{observer_, peer, m, observer_.now()};
    behind_.on_recv(peer, data, size, recv_context);
  }
  void on_complete(void* context) override { behind_.on_complete(context); }
  void on_remote_write(int peer, uint32_t imm) override { behind_.on_remote_write(peer, imm); }
  void on_peer_failure(int peer, const char* reason) override {
    if (observer_.trace != nullptr) {
      trace_event e{trace_event::type::failure};
      e.peer = peer;
      e.device = observer_.device;
      e.begin = e.end = tracer::now();
      observer_.trace->add(e);
    }
    behind_.on_peer_failure(peer, reason);
  }
  void on_peer_departure(int peer, network::departure how) override { behind_.on_peer_departure(peer, how); }
  void on_device_end(int peer) override { behind_.on_device_end(peer); }
  void on_operation_failure(void* context, int peer) override { behind_.on_operation_failure(context, peer); }

 private:
  network::event_sink& behind_;
  device_observer& observer_;
};

}  // namespace

void number_waiting(const device_observer& observer, std::vector<std::byte>& message) {
  seen_message m = look_at(message.data(), message.size(), message.size());
  give_number(observer, m, message.data());
  note_number(observer, m);
}

errorcode_t observed_network::post(const network::net_op& op) {
  if (op.kind != network::verb::send || op.n_segments == 0) {
    const errorcode_t result = behind_->post(op);
    count_sent(observer_, op.peer, {}, result);
    return result;
  }
  size_t size = 0;
  for (int i = 0; i < op.n_segments; ++i) size += op.segments[static_cast<size_t>(i)].size;
  // Before the post: afterwards the memory may have been reused.
  const network::segment& first = op.segments[0];
  seen_message m = look_at(static_cast<const std::byte*>(first.base), first.size, size);
  // Writing is allowed: the header is in the library's memory even if the payload is not.
  give_number(observer_, m, static_cast<std::byte*>(first.base));
  const errorcode_t result = behind_->post(op);
  count_sent(observer_, op.peer, m, result);
  note_departure(observer_, m, result);
  return result;
}

errorcode_t observed_network::inject(int peer, network::message_head head, const void* payload, size_t size) {
  // The body of a signal follows its header.
  std::byte bytes[sizeof head + sizeof(wire::signal_body)];
  std::memcpy(bytes, &head, sizeof head);
  const size_t known = std::min(size, sizeof bytes - sizeof head);
  if (known > 0) std::memcpy(bytes + sizeof head, payload, known);
  seen_message m = look_at(bytes, sizeof head + known, sizeof head + size);
  give_number(observer_, m, head.words[1]);
  const errorcode_t result = behind_->inject(peer, head, payload, size);
  count_sent(observer_, peer, m, result);
  note_departure(observer_, m, result);
  return result;
}

errorcode_t observed_network::post_recv(network::segment buffer, void* context) {
  const errorcode_t result = behind_->post_recv(buffer, context);
  if (result == errorcode_t::retry_lock && observer_.counts != nullptr)
    observer_.counts->add(counted::busy_recv, -1, 0);
  return result;
}

int observed_network::poll(network::event_sink& sink, int max_events) {
  watching_sink watching(sink, observer_);
  const tracer::scope of_no_post;
  const uint64_t begin = observer_.now();
  const int n = behind_->poll(watching, max_events);
  if (n < 0 && observer_.counts != nullptr) observer_.counts->add(counted::busy_poll, -1, 0);
  if (n <= 0 || observer_.trace == nullptr) return n;
  trace_event e{trace_event::type::progress};
  e.device = observer_.device;
  e.begin = begin;
  e.end = tracer::now();
  e.size = static_cast<uint64_t>(n);
  observer_.trace->add(e);
  return n;
}

}  // namespace lci::core
