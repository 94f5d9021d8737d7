// What a device has with one peer: a socket, and what waits at it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <list>
#include <memory>

#include "lib/base/cpu.hpp"
#include "lib/base/ticks.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "network/common/liveness_socket.hpp"
#include "network/common/peer_state.hpp"
#include "network/tcp/arriving.hpp"
#include "network/tcp/chunk.hpp"
#include "network/tcp/outgoing.hpp"

namespace lci::network::sockets {

/// What an answer is waited for: a get, or a put, which has no `to`.
struct request {
  std::byte* to;
  size_t size;
  void* context;
};

/// Made when something is first sent to a peer or comes from it, and kept as long as the device. What goes out
/// and can't go at once waits in a row.
struct connection {
  /// Some microseconds: a message that comes later than this after the one before begins a row.
  static inline const uint64_t closely = ticks_in(std::chrono::nanoseconds(2500));
  /// So many messages of a row go alone, at once. A call to the system takes as long as copying a hundred.
  static constexpr int few = 1;
  /// To copy one so long would cost as much as a call does: it goes alone unless something waits.
  static constexpr size_t large = 4096;
  /// Chunks and frames that wait, of our own posts, and requests that are not answered.
  static constexpr size_t most_waiting = 16, most_asked = 128;
  /// Answers to a peer that asks for no more than it may, beside those, and what is just being written.
  static constexpr size_t most_with_answers = most_waiting + most_asked + 8;
  /// While content so long comes now and then, little is read at a time of what it is announced by: else its begin
  /// would be copied. Reads without any that make us forget it:
  static constexpr size_t long_content = 16384, little = 4096;
  static constexpr int long_memory = 8;

  explicit connection(int r) : rank(r) {}

  const int rank;
  peer_state what;
  std::atomic<bool> stranger{false};  // the first that is heard of the peer is that it has failed
  /// -1: not yet connected, or with oneself. Set once, under `lock`, and open until the device ends, so that
  /// who has read it may use it.
  std::atomic<int> fd{-1};
  socket_handle socket;  // that; under lock

  // --- what goes out ---
  alignas(cache_line) spinlock lock;
  bool sending = false;  // under lock: a thread has the turn to write to the socket
  bool listed = false;   // under lock: the device knows that something waits
  bool blocked = false;  // of who has the turn, and under lock: the socket takes no more for now
  bool watched = false;  // under lock: the device is woken when it does
  bool broken = false;   // under lock: writing has failed; reading finds the end of it
  int broken_by = 0;     // under lock: the errno
  int row = 0;           // under lock: messages that went alone, closely behind each other
  uint64_t last = 0;     // under lock: when something was posted
  std::list<outgoing> waiting;     // under lock; but what is written of it is of who has the turn
  bool first_is_taken = false;     // under lock: of `waiting` the first is being written
  std::list<request> asked;        // under lock

  // --- what comes in ---
  alignas(cache_line) spinlock receive_lock;
  std::unique_ptr<chunk> incoming;  // under receive_lock; often none while nothing is there
  bool said_goodbye = false;        // under receive_lock
  bool over = false;                // under receive_lock: nothing more will come
  arriving content;                 // under receive_lock
  int expects_content = 0;          // under receive_lock: see long_memory
  std::atomic<bool> ended{false};   // nothing of it is read or waited for any more: then its failure may be told

  // --- the end; by the thread that closes the device ---
  std::atomic<bool> dismissed{false};  // a goodbye is on its way; also read by who polls
  bool shut = false;       // all is written

  bool is_gone() const { return what.is_gone(); }
  /// Whether the next message goes alone; then it counts as gone. Under lock.
  bool goes_alone(uint64_t now, size_t size) {
    if (sending || !waiting.empty() || broken) return false;
    if (size >= large) return true;
    if (now - last > closely) row = 0;
    if (row == few) return false;
    ++row;
    return true;
  }
  /// The chunk to which something may be added; nullptr: there is none, or it would come before something else.
  /// Under lock.
  chunk* open_chunk() const {
    const bool taken = waiting.empty() || (first_is_taken && waiting.size() == 1);
    return taken ? nullptr : waiting.back().copied.get();
  }
};

}  // namespace lci::network::sockets
