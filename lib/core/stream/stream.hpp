// Ordered active messages at their sender: the messages in flight to each peer, and those that wait for the window.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <vector>

#include "lci/operations.hpp"
#include "lib/base/cpu.hpp"
#include "lib/base/objects.hpp"
#include "lib/concurrent/mpmc_array.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "lib/core/operation/backlog.hpp"

namespace lci::core {

class device;

/// The messages of one stream to one peer. Thread-safe if used under `lock`, except `connection`. The lock is held
/// while a message is passed to the network, so that no sequence number is skipped; no user code runs under it.
/// Messages are released in the order of their numbers.
///
/// One message in each quarter of the window asks for credit. So whenever the window is full, at least one of the
/// messages in flight has asked, and the window opens again.
struct outgoing_stream {
  struct held_message {
    device* by = nullptr;
    backlog::item item;
    size_t size = 0;   // of the payload, also if that follows by rendezvous
    void end() const;  // the message was sent or dropped: the device no longer waits for it
  };
  using held_list = std::list<held_message>;
  /// Holds a message until the window has room. `place` has one element, which is used, so this does not allocate.
  void hold(device& d, backlog::item item, size_t size, held_list& place);

  explicit outgoing_stream(const stream_attr_t& attr) : window(attr.window), window_bytes(attr.window_bytes) {}

  /// Returns whether a message may be released that neither asks for credit nor waits, and whose counting is left to
  /// settle().
  bool is_easy(size_t size) const { return next != easy_end && size < easy_bytes; }
  void release_easy(size_t size) {
    ++next;
    easy_bytes -= size;
  }

  bool is_open() const { return sent - delivered < window && sent_bytes - delivered_bytes < window_bytes; }
  /// Returns whether a new message may be released at once.
  bool has_room() const { return held.empty() && is_open(); }
  /// The peer's id has been given to another peer. Takes no lock: the thread that holds it may be waiting for the
  /// network, which calls this. The next thread with the lock calls catch_up(), which resets the counts.
  void begin_anew() { connection.fetch_add(1, std::memory_order_relaxed); }
  void catch_up() {
    settle();
    if (LCI_LIKELY(!has_begun_anew())) return;
    counted_for = connection.load(std::memory_order_relaxed);
    next = sent = delivered = unasked = 0;
    sent_bytes = delivered_bytes = unasked_bytes = 0;
  }
  bool has_begun_anew() const { return connection.load(std::memory_order_relaxed) != counted_for; }
  /// Counts the messages of release_easy(), after which no message is easy. Part of catch_up(), which comes before all
  /// other functions but is_easy().
  void settle() {
    if (granted_bytes == 0) return;
    const uint32_t n = next - easy_begin;
    const uint64_t bytes = granted_bytes - easy_bytes;
    sent += n;
    sent_bytes += bytes;
    unasked += n;
    unasked_bytes += bytes;
    granted_bytes = easy_bytes = 0;
  }
  /// Makes as many of the next messages easy as need neither ask nor wait.
  void grant();
  /// Returns whether the next message that is released, of `size` bytes, asks for credit.
  bool asks_credit(size_t size) const {
    return (uint64_t{unasked} + 1) * 4 >= window || (unasked_bytes + size) * 4 >= window_bytes;
  }
  /// Sets the flag in the header of a message that is about to be released, if it is to ask.
  void ask_credit(std::vector<std::byte>& message, size_t size) const;
  void release(size_t size) { release(size, asks_credit(size)); }
  void release(size_t size, bool asks) {
    ++sent;
    sent_bytes += size;
    unasked = asks ? 0 : unasked + 1;
    unasked_bytes = asks ? 0 : unasked_bytes + size;
  }

  spinlock lock;
  std::atomic<uint32_t> connection{0};  // how often the peer's id has been reused; no lock
  uint32_t counted_for = 0;             // the connection that the counts below are for
  uint64_t window, window_bytes;
  uint32_t next = 0;       // sequence number of the next message posted
  uint32_t sent = 0;       // sequence number of the next message released
  uint32_t delivered = 0;  // all messages before this number have been delivered
  uint32_t unasked = 0;    // messages since the last one that asked for credit
  uint64_t sent_bytes = 0, delivered_bytes = 0, unasked_bytes = 0;
  // Most messages only change `next` and `easy_bytes`, see is_easy(). Those from easy_begin to before easy_end are easy
  // as long as the sum of their sizes is below granted_bytes, of which easy_bytes are left. 0: no message is easy.
  // While there are easy messages, none is held.
  uint32_t easy_begin = 0, easy_end = 0;
  uint64_t easy_bytes = 0, granted_bytes = 0;
  held_list held;  // messages whose posts could not return a retry
};

/// By peer; null until there is a stream to that peer.
using outgoing_row = mpmc_array<outgoing_stream*>;

/// The object behind the user's handle of a stream. Immutable. The runtime owns the state of its peers, which outlives
/// this object: sequence numbers continue when the id is reused.
class stream : public object_memory<stream, true> {
 public:
  stream(runtime_t rt, const stream_attr_t& attributes);
  ~stream();
  stream(const stream&) = delete;
  stream& operator=(const stream&) = delete;

  /// Returns null if nothing was ever posted to that peer in a stream of this id.
  outgoing_stream* to(int peer) const { return row_->get(static_cast<size_t>(peer)); }

  runtime_t runtime;
  stream_attr_t attr;
  uint16_t id;  // among the streams of this rank

 private:
  const outgoing_row* const row_;  // of stream_table
};

/// Posts an active message whose other arguments have been checked.
status_t post_in_stream(post_am_args& a);

}  // namespace lci::core
