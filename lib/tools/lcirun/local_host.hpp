// The ranks on this machine, as children of lcirun's process or of a proxy's.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "lib/tools/lcirun/event_loop.hpp"
#include "lib/tools/lcirun/host.hpp"
#include "lib/tools/lcirun/output_files.hpp"
#include "lib/tools/lcirun/spawn.hpp"

namespace lci::launcher {

/// Owns the processes of the ranks and its ends of their sockets and pipes. Its process must be a child subreaper with
/// SIGCHLD blocked. The kernel kills the ranks when the thread that started them ends. Not thread-safe.
class local_host : public host {
 public:
  /// How ranks' streams are connected.
  struct streams {
    bool capture = false;                 // report output and error as events
    const output_files* files = nullptr;  // else, if set, the files that they are written to
    int input = -1;                       // descriptor that rank 0 reads; -1: standard input
  };

  local_host(event_loop& loop, host_events& events, const launch_options& options, host_share share,
             const original_state& original, const std::string& job_id, streams connected);
  ~local_host() override;

  void start() override;
  void send(int rank, const std::string& text) override;
  void forward(int signal) override;
  int signal_all(int signal) override;
  void read_output(int stream, bool yes) override;
  void close_output(int stream) override;
  void update() override;
  bool empty() const override { return !children_; }

 private:
  struct rank_state {
    int rank = -1;
    pid_t pid = -1;
    int pmi = -1;  // socket for PMI requests
    bool running = false;
  };
  struct pipe_end {
    int rank, stream, fd;
  };

  rank_state& at(int rank) { return ranks_[size_t(rank - share().first)]; }
  /// Reads one portion of a rank's requests and reports it. Returns false if there was none.
  bool read_requests(rank_state& rank);
  void read(pipe_end& from);
  void close(pipe_end& from);

  event_loop& loop_;
  host_events& events_;
  const streams streams_;
  const bool report_;  // whether to report how ranks are bound
  const spawner spawn_;
  std::vector<rank_state> ranks_;
  std::deque<pipe_end> pipes_;  // a deque: handlers refer to elements
  bool reading_[3] = {true, true, true};
  int signals_ = -1;      // signalfd for SIGCHLD
  bool reap_ = false;     // SIGCHLD has arrived since the last update()
  bool children_ = true;  // there may be descendants
};

}  // namespace lci::launcher
