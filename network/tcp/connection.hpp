// What a device has with one peer: a socket, and what waits at it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "lib/base/cpu.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "network/liveness/fate.hpp"
#include "network/liveness/socket.hpp"
#include "network/tcp/chunk.hpp"

namespace lci::network::sockets {

/// Made when something is first sent to a peer or comes from it, and kept as long as the device. What goes out
/// passes `filling`, `rest` and the socket, in this order, unless there is nothing in the first two.
struct connection {
  /// Some microseconds: a message that comes later than this after the one before begins a row.
  static constexpr uint64_t closely = 6000;  // cpu_ticks()
  /// So many messages of a row go alone, at once. A call to the system takes as long as copying a hundred.
  static constexpr int few = 1;
  /// To copy one so long would cost as much as a call does: it goes alone unless something waits.
  static constexpr size_t large = 4096;

  explicit connection(int r) : rank(r) {}

  const int rank;
  fate what;
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
  bool broken = false;   // under lock: writing has failed; reading tells why
  int row = 0;           // under lock: messages that went alone, closely behind each other
  uint64_t last = 0;     // under lock: when something was posted
  std::unique_ptr<chunk> filling;  // under lock
  std::unique_ptr<chunk> rest;     // of who has the turn; else under lock

  // --- what comes in ---
  alignas(cache_line) spinlock receive_lock;
  std::unique_ptr<chunk> incoming;  // under receive_lock; often none while nothing is there
  bool said_goodbye = false;        // under receive_lock
  bool over = false;                // under receive_lock: nothing more will come

  // --- the end; by the thread that closes the device ---
  std::atomic<bool> dismissed{false};  // a goodbye is on its way; also read by who polls
  bool shut = false;       // all is written

  bool is_gone() const { return what.is_gone(); }
  /// Whether the next message goes alone; then it counts as gone. Under lock.
  bool goes_alone(uint64_t now, size_t size) {
    if (sending || filling != nullptr || rest != nullptr || broken) return false;
    if (size >= large) return true;
    if (now - last > closely) row = 0;
    if (row == few) return false;
    ++row;
    return true;
  }
};

}  // namespace lci::network::sockets
