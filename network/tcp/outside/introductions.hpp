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
  /// A connecting process has proved that it knows the key. The owner sends the outcome. `listener`: see add_caller().
  virtual void on_caller(const hello& from, size_t listener, socket_handle socket) = 0;
  /// The peer has sent an outcome that is no refusal; `address` belongs to verdict::near.
  virtual void on_answer(uint32_t call, const outcome& m, const std::string& address, socket_handle socket) = 0;
  /// The attempt has failed. `refused`: the peer has refused the connection.
  virtual void on_no_answer(uint32_t call, bool refused, const std::string& reason) = 0;

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

  static constexpr uint64_t caller_mark = uint64_t{1} << 32;  // plus a descriptor
  static constexpr uint64_t call_mark = uint64_t{2} << 32;    // plus the number of a call
  static constexpr uint64_t munge_mark = uint64_t{5} << 32;

  /// A process has connected. `listener`: any value, for on_caller().
  void add_caller(size_t listener, socket_handle socket);
  /// Closes the connection that has waited longest for its introduction, if that is longer than it usually takes.
  bool drop_slow_caller();
  /// The number of the next call. The owner must record it before call(), as the outcome may arrive before call()
  /// returns.
  uint32_t next_call() const { return next_call_; }
  /// Starts to connect to one of the addresses. `deadline`: when to give up.
  void call(const std::vector<sockaddr_storage>& to, const hello& what, std::chrono::steady_clock::time_point deadline);
  /// No effect if it has been answered.
  void hang_up(uint32_t call);
  /// Handles an epoll event with a mark of this class.
  void handle(uint64_t mark);
  /// Drops silent callers, and repeats calls that are due.
  void handle_due();
  /// Returns whether handle_due() must be called at some later time.
  bool any() const { return !callers_.empty() || !calls_.empty(); }

 private:
  using clock = std::chrono::steady_clock;
  struct caller {
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
  struct call_state {
    std::vector<sockaddr_storage> to;
    size_t next = 0;  ///< of the addresses
    hello what;
    clock::time_point deadline, again;
    step at = step::pausing;
    socket_handle socket;
    std::string bytes, first, trouble;
    nonce of_server{};    ///< munge
    uint32_t ticket = 0;  ///< as a caller's
    outcome answer;
  };
  /// The handshake that waits for an answer of munged.
  struct waiting {
    bool is_call;
    uint32_t number;  ///< of the call; else the caller's descriptor
  };

  using caller_list = std::list<caller>;

  void advance(caller_list::iterator c);
  /// Returns false if the caller must be dropped.
  bool take_hello(caller& c);
  bool take_proof(caller& c);
  void accept(caller_list::iterator c);
  void drop(caller_list::iterator c);

  void try_to_connect(uint32_t number);
  void advance(uint32_t number);
  /// Returns false if the attempt has ended or pauses.
  bool take_challenge(uint32_t number, call_state& c);
  void take_credential(uint32_t number, call_state& c);
  void take_outcome(uint32_t number, call_state& c);
  void finish(uint32_t number);
  void try_again(uint32_t number, const std::string& trouble);
  void try_next_address(uint32_t number, int error);
  void give_up(uint32_t number, bool refused, const std::string& reason);

  // introductions_munge.cpp
  /// Requests something for a handshake, whose hello and nonce are added, and stops reading from its socket. Returns
  /// false if the system lacks resources.
  bool request(caller& c, munge_request what);
  bool request(waiting who, uint32_t& ticket, int fd, munge_request what);
  /// Does nothing if there is none.
  void cancel(uint32_t& ticket);
  void handle_answers();
  void continue_caller(caller_list::iterator c, const munge_answer& a);
  void continue_call(uint32_t number, const munge_answer& a);

  introductions_owner& owner_;
  const credentials& keys_;
  const int events_;
  const std::chrono::milliseconds timeout_;
  caller_list callers_;  // the oldest first
  std::unordered_map<int, caller_list::iterator> callers_by_descriptor_;
  std::unordered_map<uint32_t, call_state> calls_;
  uint32_t next_call_ = 1;
  std::unique_ptr<munge_thread> munge_;            // null until the first request
  std::unordered_map<uint32_t, waiting> tickets_;  // of outstanding requests
};

/// Sends bytes for which a new socket's buffer has space. False: the connection is broken.
bool send_short(int fd, const std::string& bytes);
/// Adds the descriptor to an epoll, or changes its events. False, with `errno`: the system lacks resources.
bool watch(int epoll, int fd, uint32_t events, uint64_t mark, bool is_new);

}  // namespace lci::network::outside
