// Connection setup: one connection for each pair of devices, made when one of them first sends something.
#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <unordered_map>

#include "network/common/liveness_socket.hpp"
#include "network/tcp/endpoint.hpp"

namespace lci::network::sockets {

/// Receives the results: the device. Called under the lock of the handshakes.
class connection_owner {
 public:
  /// Returns whether a connection exists, or will never exist.
  virtual bool has_decided(int rank) = 0;
  /// A connection is established. It is no longer in the epoll set of the handshakes.
  virtual void on_connected(int rank, socket_handle socket) = 0;
  virtual void on_unreachable(int rank, const std::string& reason) = 0;
  /// The peer's host answers, but the peer does not listen any more: it has freed its device, or its process has died.
  virtual void on_closed(int rank, const std::string& reason) = 0;

 protected:
  ~connection_owner() = default;
};

/// Listens for one device, and connects it to peers. Thread-safe; no call waits for a peer. If two devices connect to
/// each other at once, the connection started by the lower rank is used, and the other rank drops its own. Before a
/// connection is used, only a hello and a reply are exchanged on it.
///
/// A connection is dropped if the other side does not know the device's secret, sends invalid data, or is silent for
/// too long.
class handshakes {
 public:
  /// Listens on an address. `events`: the device's epoll. `timeout`: how long a host may be silent or unreachable; 0:
  /// the system's default. Throws resource_error.
  handshakes(connection_owner& owner, int own_rank, int n_ranks, const sockaddr_storage& at, int events,
             std::chrono::milliseconds timeout);

  const endpoint& own() const { return own_; }

  /// Returns whether an epoll event with this mark belongs to the handshakes.
  static bool is_ours(uint64_t mark) { return mark >> 32 != 0; }

  /// Starts to connect.
  void begin(int rank, const endpoint& to);
  /// Handles an epoll event. Returns false if another thread holds the lock.
  bool handle(uint64_t mark);
  /// Gives up attempts that have timed out, and retries those that are due.
  void handle_due();
  /// The device closes, and still has messages to send. From now on connections to peers may take the listener's
  /// descriptor: peers that connect this late find that the device has ended.
  void begin_to_close();

 private:
  using clock = std::chrono::steady_clock;
  /// A connection that another process has opened, until its hello has arrived.
  struct inbound {
    socket_handle socket;
    std::string bytes;
    clock::time_point since;
  };
  /// An attempt to connect to a peer.
  struct attempt {
    socket_handle socket;  // none: we wait for the peer's own connection, or for the next try
    endpoint to;
    bool connected = false;
    bool may_have_served = false;  // a try broke when the peer may already have accepted it
    int n_dropped = 0;             // tries that the peer has closed without a reply
    std::string bytes;
    clock::time_point since;
    std::string trouble;      // why the last try failed, if another one follows ...
    clock::time_point again;  // ... at this time
    clock::duration pause{};  // before that one
  };
  static constexpr uint64_t listener_mark = uint64_t{1} << 32;
  static constexpr uint64_t inbound_mark = uint64_t{2} << 32;  // plus a descriptor
  static constexpr uint64_t attempt_mark = uint64_t{3} << 32;  // plus a rank

  // All under mutex_.
  void accept_all();
  /// Returns the inbound connection that has waited longest. Precondition: there is one.
  std::unordered_map<int, inbound>::iterator oldest_inbound();
  /// To be called after accept() has failed for lack of resources: closes a connection that has waited long, or stops
  /// accepting for a while. Otherwise the connection that waits would be reported again at once, and a thread that
  /// sleeps until an event would not sleep.
  void pause_accepting(int error);
  void read_hello(int fd);
  void answer(inbound& who, const hello& h);
  void advance(int rank);
  void try_to_connect(int rank);
  /// If the device closes and lacks a descriptor to connect: closes the listener and returns true.
  bool takes_listeners_descriptor(int error);
  /// Connecting failed: retries later if that may help, else gives up.
  void try_later(int rank, int error);
  /// The peer has closed the connection without a reply: it may have lacked resources, or be closing.
  void try_again(int rank, const char* what);
  void give_up(int rank, const std::string& reason);
  /// As give_up(), if the peer no longer listens there.
  void give_up_closed(int rank, const std::string& reason);
  /// Another try follows after a pause, which becomes longer with each try.
  void schedule(attempt& a, std::string trouble);
  /// Removes the attempt. Returns the text that describes its failure.
  std::string end_attempt(int rank, const std::string& reason);
  /// Returns false, with `errno`, if the system lacks resources.
  bool watch(int fd, uint32_t events, uint64_t mark, int operation);

  connection_owner& owner_;
  const int own_rank_, n_ranks_;
  const int events_;
  const std::chrono::milliseconds timeout_;
  endpoint own_;
  socket_handle listener_;
  std::mutex mutex_;
  std::unordered_map<int, inbound> inbound_;   // under mutex_, by descriptor
  std::unordered_map<int, attempt> attempts_;  // under mutex_, by rank
  clock::time_point accept_again_{};           // under mutex_; 0: connections are accepted
  bool warned_ = false;                        // under mutex_
  bool warned_of_connecting_ = false;          // under mutex_
  bool closing_ = false;                       // under mutex_
};

}  // namespace lci::network::sockets
