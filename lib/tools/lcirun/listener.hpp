// Where proxies connect to: lets in one connection for each host, made by who has its key.
#pragma once

#include <functional>
#include <list>
#include <string>
#include <vector>

#include "lib/tools/lcirun/event_loop.hpp"
#include "lib/tools/lcirun/handshake.hpp"

namespace lci::launcher {

/// Not thread-safe.
class listener {
 public:
  using accepted_t = std::function<void(int host, int socket)>;

  /// `accepted` is called once at most for each host, and owns the socket.
  listener(event_loop& loop, size_t hosts, bool verbose, accepted_t accepted);
  ~listener();
  listener(const listener&) = delete;
  listener& operator=(const listener&) = delete;

  int port() const { return port_; }
  const secret_key& key(size_t host) const { return keys_[host]; }
  /// This host's addresses as numbers, the more likely to be reached from elsewhere first.
  static std::vector<std::string> addresses();

 private:
  struct guest {
    int socket;
    double until;
    std::string hello, challenge, answer;
  };

  void accept_one();
  void talk(guest& who);
  /// Reads up to `size` bytes in all. False: not yet, or the guest has been sent away.
  bool receive(guest& who, std::string& into, size_t size);
  void send_away(guest& who, const char* why);

  event_loop& loop_;
  const bool verbose_;
  const accepted_t accepted_;
  std::vector<secret_key> keys_;
  std::vector<bool> taken_;
  size_t expected_;  // hosts that have not come yet
  int socket_ = -1, port_ = 0;
  std::list<guest> guests_;
};

}  // namespace lci::launcher
