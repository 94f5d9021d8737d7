// Ranks on another machine: ssh starts a proxy there, which connects back over TCP.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/tools/lcirun/connection.hpp"
#include "lib/tools/lcirun/host.hpp"
#include "lib/tools/lcirun/input.hpp"
#include "lib/tools/lcirun/listener.hpp"

namespace lci::launcher {

/// A host is lost if ssh, the proxy or the connection ends before its ranks have, or if it does not answer in time. The
/// proxy, or its guard, then kills the processes there.
class remote_host : public host {
 public:
  struct identity {
    int number;
    secret_key key;
    int port;
    std::string job_id;
  };

  remote_host(event_loop& loop, host_events& events, const launch_options& options, host_share share, identity who);
  ~remote_host() override;

  void start() override;
  /// The proxy has connected; takes ownership of the socket.
  void connected(int socket);
  /// Process `pid` has ended. Returns false if it is not this host's ssh.
  bool ended(pid_t pid, int wait_status);
  /// Returns whether the proxy has not connected yet.
  bool awaited() const { return !connection_ && !lost_; }

  void send(int rank, const std::string& text) override;
  void forward(int signal) override;
  int signal_all(int signal) override;
  void read_output(int stream, bool yes) override;
  void close_output(int stream) override;
  void update() override;
  bool empty() const override { return gone_ || lost_; }
  bool finished() const override { return (done_ || lost_) && ssh_ < 0; }
  double deadline() const override { return deadline_; }
  bool away() const override { return true; }

 private:
  [[noreturn]] void become_ssh(int input) const;
  std::vector<std::string> command() const;
  bool on_frame(frame_t type, frame_reader& fields);
  bool on_rank_frame(frame_t type, int rank, frame_reader& fields);
  /// Returns whether `what` has happened to each of the host's ranks.
  bool all(unsigned what) const;
  void send_setup();
  void lose(const std::string& why);
  void finish();

  event_loop& loop_;
  host_events& events_;
  const launch_options& options_;
  const identity who_;
  const bool direct_;  // this machine: without ssh
  pid_t ssh_ = -1;
  std::unique_ptr<connection> setup_;       // to ssh's standard input
  std::unique_ptr<connection> connection_;  // to the proxy
  std::unique_ptr<input_sender> input_;     // if rank 0 runs on this host
  bool reading_[3] = {true, true, true};
  int64_t owed_[3] = {0, 0, 0};     // bytes of output not acknowledged to the proxy
  std::vector<unsigned> happened_;  // by rank: bits for the ends of its streams and its exit
  bool gone_ = false, done_ = false, lost_ = false;
  double deadline_ = 0;
};

/// Returns whether the command line's `host` is this machine.
bool is_this_machine(const std::string& host);

}  // namespace lci::launcher
