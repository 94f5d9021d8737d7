// How the name of a process, "tcp://host:port", leads to the core's address of it: a listener at that port answers with
// it. This is all of NA that knows of sockets. It can be replaced by the core's own URLs.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "lci.hpp"
#include "lib/layers/na/identity.hpp"
#include "lib/layers/na/url.hpp"

namespace na {

/// What a listener says of its process.
struct card {
  identity who{};
  lci::rcomp_t greetings = 0;  // where it receives what peers say of themselves
  std::string address;         // of the core
  std::string name;
};

/// A card, and the socket through which it came: while it is open, the other process makes progress even if it calls no
/// function, and knows that it is asked.
class resolved {
 public:
  resolved(card c, bool is_coming, int socket) : it(std::move(c)), coming(is_coming), socket_(socket) {}
  ~resolved();
  resolved(const resolved&) = delete;
  resolved& operator=(const resolved&) = delete;

  const card it;
  const bool coming;  // the other process connects with this one just now

 private:
  const int socket_;
};

/// Connects with the listener that `where` names, and receives its card. Gives up after `seconds`, or when `give_up`
/// becomes true. Throws lci::invalid_argument_error if the name has no port, lci::peer_failure_error if nobody answers
/// there, or with something else than a card. Any number of threads may call it.
/// `me` is who asks.
std::unique_ptr<resolved> resolve(const url& where, const identity& me, double seconds,
                                  const std::atomic<bool>& give_up);

/// The listener: a socket, and a thread that answers requests. Who sends no request, or sends something else, is
/// disconnected after two seconds, or when more connections come than `most_connections`: what a stranger can cost is
/// bounded.
class name_service {
 public:
  static constexpr size_t most_connections = 128;

  /// Binds the socket to host and port of `at`, whose protocol may have neither: then it is bound to the loopback
  /// interface, as the core reaches processes of the same host only; port 0: a free one. Throws lci::resource_error.
  explicit name_service(const url& at);
  ~name_service();
  name_service(const name_service&) = delete;
  name_service& operator=(const name_service&) = delete;

  /// "tcp://host:port" with the port that was chosen.
  const std::string& name() const { return name_; }

  /// Begins to answer. `make_progress` is called each millisecond while a process that got the card connects, and
  /// `coming` to learn whether this process connects with another one just now.
  void start(const card& mine, std::function<void()> make_progress, std::function<bool(const identity&)> coming);

  /// Whether that process has asked, and is connecting. Becomes true before `coming` is called for it. Thread-safe.
  bool asked_by(const identity& who) const;

 private:
  struct connection;
  class table;
  void serve(table& connections);
  bool reply(connection& c);

  int socket_ = -1;
  int stop_ = -1;  // an eventfd
  std::string name_;
  card card_;
  std::function<void()> make_progress_;
  std::function<bool(const identity&)> coming_;
  mutable std::mutex mutex_;        // of asking_
  std::multiset<identity> asking_;  // of whom the connections were answered
  std::thread thread_;
};

}  // namespace na
