// Runs the handshakes of connections to peers outside of the job, on both sides.
#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "network/common/liveness_socket.hpp"
#include "network/tcp/outside/introduction.hpp"
#include "network/tcp/outside/munge_thread.hpp"

namespace lci::network::outside {

/// Receives the results. Implemented by the context, which calls `introductions` under its lock.
class introductions_owner {
 public:
  /// A connecting process has proved that it knows the key. The owner sends the outcome. `listener`: see add_inbound().
  virtual void on_accepted(const hello& from, size_t listener, socket_handle socket) = 0;
  /// The peer has sent an outcome that is no refusal; `address` belongs to verdict::near.
  virtual void on_outcome(uint32_t attempt, const outcome& m, const std::string& address, socket_handle socket) = 0;
  /// The attempt has failed. `refused`: the peer has refused the connection.
  virtual void on_connect_failed(uint32_t attempt, bool refused, const std::string& reason) = 0;

 protected:
  ~introductions_owner() = default;
};

/// The outstanding handshakes. Owned by the context. Not thread-safe. No call waits for a peer. The number of
/// unauthenticated connections is bounded: if there are too many, the oldest is dropped. A peer whose connection is
/// dropped tries again. A handshake that waits for munged has one request outstanding, which ends with it.
class introductions {
 public:
  /// `events`: an epoll descriptor, to which sockets are added with the marks below. `timeout`: see begin_to_connect().
  introductions(introductions_owner& owner, const credentials& keys, int events, std::chrono::milliseconds timeout)
      : owner_(owner), keys_(keys), events_(events), timeout_(timeout) {}

  static constexpr uint64_t inbound_mark = uint64_t{1} << 32;   // plus a descriptor
  static constexpr uint64_t outbound_mark = uint64_t{2} << 32;  // plus the number of an attempt
  static constexpr uint64_t munge_mark = uint64_t{5} << 32;

  /// Begins the handshake with a process that has connected. `listener`: any value, for on_accepted().
  void add_inbound(size_t listener, socket_handle socket);
  /// Closes the connection that has waited longest for the end of its handshake, if that is longer than it usually
  /// takes.
  bool drop_slow_inbound();
  /// The number of the next attempt to connect. The owner must record it before connect(), as the outcome may arrive
  /// before connect() returns.
  uint32_t next_attempt() const { return next_attempt_; }
  /// Starts to connect to one of the addresses. `deadline`: when to give up.
  void connect(const std::vector<sockaddr_storage>& to, const hello& what,
               std::chrono::steady_clock::time_point deadline);
  /// Ends an attempt without a report to the owner. No effect if the peer has sent its outcome.
  void abandon(uint32_t attempt);
  /// Handles an epoll event with a mark of this class.
  void handle(uint64_t mark);
  /// Drops silent inbound connections, and repeats attempts that are due.
  void handle_due();
  /// Returns whether handle_due() must be called at some later time.
  bool any() const { return !inbound_.empty() || !outbound_.empty(); }

 private:
  using clock = std::chrono::steady_clock;
  /// A connection that another process has opened, until it is authenticated.
  struct inbound {
    socket_handle socket;
    size_t listener = 0;
    clock::time_point since;
    std::string bytes, first;  ///< the received part of the next message; the hello
    hello said;
    nonce fresh{};
    uint32_t ticket = 0;   ///< of a request to munged; 0: none. While it is outstanding, nothing is read.
    bool vouched = false;  ///< munge: the challenge and this process's credential have been sent
  };
  /// What an outgoing connection waits for.
  enum class step : uint8_t {
    pausing,            ///< the time of the next attempt
    connecting,         ///< the TCP connection
    awaits_challenge,   ///< the hello has been sent
    awaits_credential,  ///< munge: the challenge has arrived
    awaits_munged,      ///< meanwhile only the failure of the connection is an event
    awaits_outcome,     ///< the proof, or the credential, has been sent
    awaits_address,     ///< verdict::near: the rest of the outcome
  };
  /// An attempt to connect.
  struct outbound {
    std::vector<sockaddr_storage> to;
    size_t next = 0;  ///< of the addresses
    hello what;
    clock::time_point deadline, again;
    step at = step::pausing;
    socket_handle socket;
    std::string bytes, first, trouble;
    nonce of_server{};    ///< munge
    uint32_t ticket = 0;  ///< as an inbound connection's
    outcome answer;
  };
  /// The handshake that waits for an answer of munged.
  struct waiting {
    bool is_outbound;
    uint32_t number;  ///< of the attempt to connect, or the descriptor of the inbound connection
  };

  using inbound_list = std::list<inbound>;

  void advance(inbound_list::iterator c);
  /// Returns false if the connection must be dropped.
  bool take_hello(inbound& c);
  bool take_proof(inbound& c);
  void accept(inbound_list::iterator c);
  void drop(inbound_list::iterator c);

  void try_to_connect(uint32_t number);
  void advance(uint32_t number);
  /// Returns false if the attempt has ended or pauses.
  bool take_challenge(uint32_t number, outbound& c);
  void take_credential(uint32_t number, outbound& c);
  void finish(uint32_t number);
  void try_again(uint32_t number, const std::string& trouble);
  void try_next_address(uint32_t number, int error);
  void give_up(uint32_t number, bool refused, const std::string& reason);

  // introductions_munge.cpp
  /// Requests something for a handshake, whose hello and nonce are added, and stops reading from its socket. Returns
  /// false if the system lacks resources.
  bool request(inbound& c, munge_request what);
  bool request(waiting who, uint32_t& ticket, int fd, munge_request what);
  /// Does nothing if there is none.
  void cancel(uint32_t& ticket);
  void handle_answers();
  void continue_inbound(inbound_list::iterator c, const munge_answer& a);
  void continue_outbound(uint32_t number, const munge_answer& a);

  introductions_owner& owner_;
  const credentials& keys_;
  const int events_;
  const std::chrono::milliseconds timeout_;
  inbound_list inbound_;  // the oldest first
  std::unordered_map<int, inbound_list::iterator> inbound_by_descriptor_;
  std::unordered_map<uint32_t, outbound> outbound_;
  uint32_t next_attempt_ = 1;
  std::unique_ptr<munge_thread> munge_;            // null until the first request
  std::unordered_map<uint32_t, waiting> tickets_;  // of outstanding requests
};

/// Sends bytes for which a new socket's buffer has space. Returns false if the connection is broken.
bool send_short(int fd, const std::string& bytes);
/// Adds the descriptor to an epoll, or changes its events. Returns false, with `errno`, if the system lacks resources.
bool watch(int epoll, int fd, uint32_t events, uint64_t mark, bool is_new);

}  // namespace lci::network::outside
