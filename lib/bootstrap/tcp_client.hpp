// A rank's connection to the root. A thread reads it, so that the root can end a rank wherever it is executing.
#pragma once

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <thread>

#include "lib/bootstrap/tcp_key.hpp"
#include "lib/bootstrap/tcp_socket.hpp"
#include "lib/bootstrap/tcp_wire.hpp"

namespace lci::network::tcp {

/// Used by one thread at a time. Throws bootstrap_error if the root is gone or does not answer within the timeout.
class client {
 public:
  /// `name`: the root's name for error messages. `timeout` in seconds for each answer; 0: for ever.
  client(socket_fd fd, std::string name, double timeout);
  ~client();

  void set_timeout(double timeout) { timeout_ = timeout; }

  /// Joins as rank `rank` of `size`; returns the job's id.
  std::string join(int rank, int size, const job_key& key);
  /// Only waits for the job's id: for a connection that the root has admitted already.
  std::string await_welcome();

  void send(kind what, const std::string& body) { send_encoded(encode(what, body)); }
  /// `bytes` come from encode(), which may need memory that a frame sent in part must not wait for.
  void send_encoded(const std::string& bytes);
  frame receive();

  /// From now on, an abort message from the root is returned by receive() instead of ending the process.
  void expect_abort() { expecting_abort_.store(true, std::memory_order_relaxed); }

 private:
  /// Runs in the client's thread. `over` and `no_memory` are texts for errors: that the connection has ended, and that
  /// it has ended because this process has no memory.
  void read_all(std::string over, std::string no_memory);
  /// Reads until the connection ends; adds the reason to `over`.
  void read_frames(std::string& over);
  void deliver(frame f);
  frame expect(kind what);

  socket_fd fd_;
  const std::string name_;
  double timeout_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<frame> frames_;  // guarded by mutex_
  std::string ended_;         // why the connection has ended; guarded by mutex_
  std::atomic<bool> expecting_abort_{false};
  std::thread thread_;
};

}  // namespace lci::network::tcp
