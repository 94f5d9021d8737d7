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

/// Its process must be a child subreaper with SIGCHLD blocked. Ranks die with the thread that started them.
class local_host : public host {
 public:
  /// How ranks' streams are connected.
  struct streams {
    bool capture = false;                 // report their output as events
    const output_files* files = nullptr;  // else, if set, write it to files
    int input = -1;                       // of rank 0; -1: standard input
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
    int pmi = -1;
    bool running = false;
  };
  struct pipe_end {
    int rank, stream, fd;
  };

  rank_state& at(int rank) { return ranks_[size_t(rank - share().first)]; }
  /// Handles one portion of a rank's requests. False: there was none.
  bool read_requests(rank_state& rank);
  void read(pipe_end& from);
  void close(pipe_end& from);

  event_loop& loop_;
  host_events& events_;
  const streams streams_;
  const bool report_;  // how ranks are bound
  const spawner spawn_;
  std::vector<rank_state> ranks_;
  std::deque<pipe_end> pipes_;  // a deque: handlers refer to elements
  bool reading_[3] = {true, true, true};
  int signals_ = -1;
  bool reap_ = false;
  bool children_ = true;  // there may be descendants
};

}  // namespace lci::launcher
