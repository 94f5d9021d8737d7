// The listening socket for proxies: accepts one authenticated connection for each host.
#pragma once

#include <functional>
#include <list>
#include <string>
#include <vector>

#include "lib/tools/lcirun/event_loop.hpp"
#include "lib/tools/lcirun/handshake.hpp"

namespace lci::launcher {

/// A TCP socket, and the connections whose handshakes are not complete. A proxy is the process that lcirun starts on a
/// remote host. Owned by lcirun's main program. Not thread-safe.
class listener {
 public:
  using accepted_t = std::function<void(int host, int socket)>;

  /// `accepted` is called at most once for each host, and takes ownership of the socket.
  listener(event_loop& loop, size_t hosts, bool verbose, accepted_t accepted);
  ~listener();
  listener(const listener&) = delete;
  listener& operator=(const listener&) = delete;

  int port() const { return port_; }
  const secret_key& key(size_t host) const { return keys_[host]; }
  /// This host's addresses in numeric form, those most likely to be reachable from other hosts first.
  static std::vector<std::string> addresses();

 private:
  struct caller {
    int socket;
    double until;
    std::string hello, challenge, answer;
  };

  void accept_one();
  /// After a failed accept(): if it lacked a descriptor, closes a connection that has waited long. If there is none, or
  /// if there was no memory, waits a little.
  void make_room(int error);
  void talk(caller& who);
  /// Reads until `into` has `size` bytes. Returns false if it has not yet, or if the connection was closed.
  bool receive(caller& who, std::string& into, size_t size);
  void send_away(caller& who, const char* why);

  event_loop& loop_;
  const bool verbose_;
  const accepted_t accepted_;
  std::vector<secret_key> keys_;
  std::vector<bool> taken_;
  size_t expected_;  // hosts that have not connected yet
  int socket_ = -1, port_ = 0;
  bool has_complained_ = false;  // of too few descriptors
  std::list<caller> callers_;
};

}  // namespace lci::launcher
