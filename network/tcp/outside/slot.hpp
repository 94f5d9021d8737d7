// A device's connection to one peer outside of the job: the link, the frames that wait to be sent, and bytes that
// were received but not handled yet.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>

#include "lib/base/cpu.hpp"
#include "lib/concurrent/spinlock.hpp"
#include "network/common/message_series.hpp"
#include "network/tcp/arriving.hpp"
#include "network/tcp/chunk.hpp"
#include "network/tcp/connection.hpp"
#include "network/tcp/outgoing.hpp"
#include "network/tcp/outside/link.hpp"

namespace lci::network::outside {

/// The slot of an id, which successive peers with that id use. Owned by the device and never freed before it, so any
/// thread may lock it. Changes of the link and of `open` need both locks. Lock order: receive_lock, lock, a list's
/// lock.
struct slot {
  // Limits of queued data and of unanswered requests; see sockets::connection.
  static constexpr size_t most_waiting = sockets::connection::most_waiting,
                          most_asked = sockets::connection::most_asked;
  static constexpr size_t most_with_answers = sockets::connection::most_with_answers;

  explicit slot(int id) : peer(id) {}

  const int peer;

  // --- sending, under lock ---
  alignas(cache_line) spinlock lock;
  bool open = false;        // posts are accepted for the connection `generation`
  bool ended = false;       // the peer has freed its device, which was reported
  bool listed = false;      // in the device's list
  bool blocked = false;     // the link is full; of a socket, the epoll reports when it has space
  bool broken = false;      // nothing can be written any more
  bool close_sent = false;  // the close notification was posted
  bool shut = false;        // shut down for writing
  uint32_t generation = 0;  // number of the current or last connection
  link way;
  message_series series;
  std::list<sockets::outgoing> waiting;
  std::list<sockets::request> asked;

  // --- receiving, under receive_lock ---
  alignas(cache_line) spinlock receive_lock;
  std::unique_ptr<sockets::chunk> incoming;  // null while nothing is pending
  sockets::arriving content;
  uint32_t largest = 0;  // bytes of the peer's messages
  bool over = false;     // nothing more will be read
  bool closed = false;   // the peer has sent its close notification
};

}  // namespace lci::network::outside
