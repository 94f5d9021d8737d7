// The socket to a PMI-1 launcher: sends and receives whole lines, each exchange with a deadline.
#pragma once

#include <chrono>
#include <string>

#include "lci/errors.hpp"
#include "lib/bootstrap/pmi1_wire.hpp"

namespace lci::network::pmi1 {

/// The launcher is connected, but has not answered within the timeout.
class no_answer : public bootstrap_error {
 public:
  using bootstrap_error::bootstrap_error;
};

/// Owns the socket. Not thread-safe. Throws bootstrap_error if the launcher has closed the connection, does not answer
/// in time, or sends a line that is too long.
class channel {
 public:
  /// `timeout` in seconds for each exchange; 0 waits for ever.
  channel(int fd, double timeout) : fd_(fd), timeout_(timeout) {}
  ~channel();
  channel(const channel&) = delete;
  channel& operator=(const channel&) = delete;

  /// Connects to "host:port".
  static int connect_to(const std::string& port, double timeout);

  void set_timeout(double timeout) { timeout_ = timeout; }
  /// `line` must end in a newline.
  void send(const std::string& line);
  /// Returns the next line, without newline. The timeout counts from the last send().
  std::string receive();

 private:
  using clock = std::chrono::steady_clock;
  void wait(short events);

  int fd_;
  double timeout_;
  clock::time_point asked_ = clock::now();
  line_buffer in_;
};

}  // namespace lci::network::pmi1
