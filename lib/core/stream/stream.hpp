// Ordered active messages at their sender: what is on its way to each peer, and what waits for room.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>

#include "lci/operations.hpp"
#include "lib/base/cpu.hpp"
#include "lib/base/objects.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "lib/core/operation/backlog.hpp"

namespace lci::core {

class device;

/// What a rank posts in one stream to one peer. Everything is under `lock`, which is held while a
/// message is handed to the network, so that no sequence number is left out: nothing that may run
/// the user's code happens meanwhile. Messages are released in the order of their numbers.
///
/// Of the messages on their way at least one asks for credit whenever the window is full: one in
/// each quarter of it does. So a full window opens again.
struct outgoing_stream {
  struct held_message {
    device* by = nullptr;
    backlog::item item;
    size_t size = 0;   // of the payload, also where it comes later
    void end() const;  // it has left, or is lost: the device need not wait for it
  };
  using held_list = std::list<held_message>;
  /// `place` has one, in which the message is to wait: so this needs no memory.
  void hold(device& d, backlog::item item, size_t size, held_list& place);

  explicit outgoing_stream(const stream_attr_t& attr)
      : window(attr.window), window_bytes(attr.window_bytes) {}

  bool is_open() const {
    return sent - delivered < window && sent_bytes - delivered_bytes < window_bytes;
  }
  /// Whether a new message may go at once.
  bool has_room() const { return held.empty() && is_open(); }
  /// The id is another peer's from now on. Without the lock: whoever holds that may be waiting for the
  /// network, which calls this. The next to have it sees to the rest.
  void begin_anew() { connection.fetch_add(1, std::memory_order_relaxed); }
  void catch_up() {
    const uint32_t now = connection.load(std::memory_order_relaxed);
    if (LCI_LIKELY(now == counted_for)) return;
    counted_for = now;
    next = sent = delivered = unasked = 0;
    sent_bytes = delivered_bytes = unasked_bytes = 0;
  }
  /// Whether the next message that is released, of `size` bytes, asks for credit.
  bool asks_credit(size_t size) const {
    return (unasked + 1) * 4 >= window || (unasked_bytes + size) * 4 >= window_bytes;
  }
  void release(size_t size) {
    const bool asks = asks_credit(size);
    ++sent;
    sent_bytes += size;
    unasked = asks ? 0 : unasked + 1;
    unasked_bytes = asks ? 0 : unasked_bytes + size;
  }

  spinlock lock;
  std::atomic<uint32_t> connection{0};  // how often the peer's id has changed hands; no lock
  uint32_t counted_for = 0;             // the connection that these are of
  uint64_t window, window_bytes;
  uint32_t next = 0;  // sequence number of the next message posted
  uint32_t sent = 0;  // of the next one released
  uint32_t delivered = 0;  // all before it have been
  uint32_t unasked = 0;  // messages since the last that asked for credit
  uint64_t sent_bytes = 0, delivered_bytes = 0, unasked_bytes = 0;
  held_list held;  // posts that could not be told to retry
};

/// The user's handle on a stream. Immutable. What belongs to its peers is the runtime's, and
/// outlives it: numbers go on where they were when the id is used again.
class stream : public object_memory<stream, true> {
 public:
  stream(runtime_t rt, const stream_attr_t& attributes);
  ~stream();
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;

  runtime_t runtime;
  stream_attr_t attr;
  uint16_t id;  // among the streams of this rank
};

/// Posts an active message whose other arguments have been checked.
status_t post_in_stream(post_am_args& a);

}  // namespace lci::core
