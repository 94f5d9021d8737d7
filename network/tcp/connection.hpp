// A device's connection to one peer: a socket, and what waits to be sent or read.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <memory>

#include "lib/base/cpu.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "network/common/liveness_socket.hpp"
#include "network/common/message_series.hpp"
#include "network/common/peer_state.hpp"
#include "network/common/suspicions.hpp"
#include "network/tcp/arriving.hpp"
#include "network/tcp/chunk.hpp"
#include "network/tcp/outgoing.hpp"

namespace lci::network::sockets {

/// A request waiting for its answer: a get, or a put, which has no `to`.
struct request {
  std::byte* to;
  size_t size;
  void* context;
};

/// Made when something is first sent to a peer or received from it; exists as long as the device. What can't be sent at
/// once is queued.
struct connection {
  /// This many messages of a series are sent at once, each alone; the others are bundled. A system call takes as long
  /// as copying a hundred messages.
  static constexpr int few = 1;
  /// Bytes: copying a message of this size costs as much as a system call with the work of TCP behind it, so it goes
  /// alone unless something waits.
  static constexpr size_t large = 16384;
  /// Limits of the chunks and frames that wait for our own posts, and of the unanswered requests.
  static constexpr size_t most_waiting = 16, most_asked = 128;
  /// Limit including the answers to a peer that respects these limits, and what is being written.
  static constexpr size_t most_with_answers = most_waiting + most_asked + 8;
  /// After content of at least `long_content` bytes, at most `little` bytes are read with the next frame heads, as
  /// content that is read with its head must be copied. `long_memory`: number of reads without such content after which
  /// that limit ends.
  static constexpr size_t long_content = 16384, little = 4096;
  static constexpr int long_memory = 8;

  explicit connection(int r) : rank(r) {}

  const int rank;
  peer_state state;
  std::atomic<bool> never_met{false};  // its failure was detected before anything was exchanged with it
  /// -1: not yet connected, or the connection to oneself. Set once, under `lock`, and open until the device is
  /// destroyed, so that a thread that has read it may use it.
  std::atomic<int> fd{-1};
  socket_handle socket;  // owns fd; under lock

  // --- sending ---
  alignas(cache_line) spinlock lock;
  bool sending = false;         // under lock: a thread has the turn to write to the socket
  bool listed = false;          // under lock: in the device's list of connections where something waits
  bool blocked = false;         // of the thread with the turn, and under lock: the socket is full
  bool watched = false;         // under lock: the device is woken when the socket has space
  bool broken = false;          // under lock: writing has failed; reading finds the end of the connection
  int broken_by = 0;            // under lock: the errno
  message_series series;        // under lock
  std::list<outgoing> waiting;  // under lock, except that the thread with the turn uses the first
  bool first_is_taken = false;  // under lock: the first of `waiting` is being written
  std::list<request> asked;     // under lock

  // --- receiving ---
  alignas(cache_line) spinlock receive_lock;
  std::unique_ptr<chunk> incoming;  // under receive_lock; often null while nothing is pending
  bool closed = false;              // under receive_lock: the peer has sent its close notification
  bool over = false;                // under receive_lock: nothing more will be read
  arriving content;                 // under receive_lock
  int expects_content = 0;          // under receive_lock: see long_memory
  std::atomic<bool> ended{false};   // nothing of it is read or outstanding any more, so its failure may be reported

  // --- closing; used by the thread that closes the device ---
  std::atomic<bool> close_sent{false};  // the close notification was posted; also read by polling threads
  bool shut = false;                    // everything is written

  suspicion why_suspected;

  bool is_gone() const { return state.is_gone(); }
  /// Returns whether the next message goes alone; if so, counts it as sent. Under lock.
  bool goes_alone(uint64_t now, size_t size) {
    if (sending || !waiting.empty() || broken) return false;
    if (size >= large) return true;
    return series.goes_alone(now, few);
  }
  /// The chunk to which a message may be appended; nullptr: there is none, or appending would break the order. Under
  /// lock.
  chunk* open_chunk() const {
    const bool taken = waiting.empty() || (first_is_taken && waiting.size() == 1);
    return taken ? nullptr : waiting.back().copied.get();
  }
};

}  // namespace lci::network::sockets
