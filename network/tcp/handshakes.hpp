// How connections come about: one for each pair of devices, made when one of them has something to send.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

#include "network/common/liveness_socket.hpp"
#include "network/tcp/endpoint.hpp"

namespace lci::network::sockets {

/// Who is told of them: the device. Called under the lock of the handshakes.
class connection_owner {
 public:
  /// Whether there is a connection already, or will never be one.
  virtual bool has_decided(int rank) = 0;
  /// There is one now. It is no longer watched.
  virtual void on_connected(int rank, socket_handle socket) = 0;
  virtual void on_unreachable(int rank, const std::string& reason) = 0;
  /// Its host answers, but the peer does not listen there any more: it has freed its device, or its process has died.
  virtual void on_closed(int rank, const std::string& reason) = 0;

 protected:
  ~connection_owner() = default;
};

/// Listens for one device, and connects it. Thread-safe; no call waits for a peer. If two devices connect with
/// each other at once, the connection that the lower rank has begun serves, and the other rank lets go of its
/// own. Before a connection serves, nothing but a hello and a reply has gone over it.
///
/// Who connects and does not know the device's secret, says something else, or nothing for long, is dropped.
class handshakes {
 public:
  /// Listens at an address. `events`: the device's epoll. `timeout`: how long a host may not answer, or not be
  /// reached; 0: the system's own. Throws resource_error.
  handshakes(connection_owner& owner, int own_rank, int n_ranks, const sockaddr_storage& at, int events,
             std::chrono::milliseconds timeout);

  const endpoint& own() const { return own_; }

  /// What epoll says of our sockets has such marks.
  static bool is_ours(uint64_t mark) { return mark >> 32 != 0; }

  /// Begins to connect.
  void begin(int rank, const endpoint& to);
  /// Goes on with what epoll says. False: another thread is at it.
  bool handle(uint64_t mark);
  /// Gives up what has taken too long.
  void handle_due();

 private:
  using clock = std::chrono::steady_clock;
  /// Somebody who has connected to us.
  struct caller {
    socket_handle socket;
    std::string said;
    clock::time_point since;
  };
  /// Our connecting to a peer.
  struct attempt {
    socket_handle socket;  // none: the peer's own shall serve, and will come
    endpoint to;
    bool connected = false;
    bool may_have_served = false;  // a try has broken where the other end may have said welcome already
    int n_dropped = 0;        // tries that the other end has dropped without a word
    std::string said;
    clock::time_point since;
    std::string trouble;      // why the last try has ended, if the next one is still to come ...
    clock::time_point again;  // ... then
  };
  static constexpr uint64_t listener_mark = uint64_t{1} << 32;
  static constexpr uint64_t caller_mark = uint64_t{2} << 32;   // over a descriptor
  static constexpr uint64_t attempt_mark = uint64_t{3} << 32;  // over a rank

  // All under mutex_.
  void accept_all();
  void hear(int fd);
  void answer(caller& who, const hello& h);
  void advance(int rank);
  void try_to_connect(int rank);
  /// There was no connection: later, if that may help, or never.
  void try_later(int rank, int error);
  /// The other end has dropped us without a word: it may have had no room, or be about to end.
  void try_again(int rank, const char* what);
  void give_up(int rank, const std::string& reason);
  /// The same, where nobody, or somebody else, listens now.
  void give_up_closed(int rank, const std::string& reason);
  /// Forgets the attempt. Returns what to say of it.
  std::string end_attempt(int rank, const std::string& reason);
  /// False, with `errno`: the system has no room for it.
  bool watch(int fd, uint32_t events, uint64_t mark, int operation);

  connection_owner& owner_;
  const int own_rank_, n_ranks_;
  const int events_;
  const std::chrono::milliseconds timeout_;
  endpoint own_;
  socket_handle listener_;
  std::mutex mutex_;
  std::unordered_map<int, caller> callers_;    // under mutex_, by descriptor
  std::unordered_map<int, attempt> attempts_;  // under mutex_, by rank
  bool warned_ = false;                        // under mutex_
};

}  // namespace lci::network::sockets
