// One job: starts the ranks, serves their PMI requests, sees them end, and ends them all when one
// fails. Runs in a process of its own below the one that the user sees (see guard.hpp).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "network/launcher/event_loop.hpp"
#include "network/launcher/labelled_output.hpp"
#include "network/launcher/launch_options.hpp"
#include "network/launcher/pmi_server.hpp"
#include "network/launcher/spawn.hpp"

namespace lci::launcher {

/// What the guard says to the job, besides numbers of signals to forward.
constexpr unsigned char kill_hard = 0xff;

/// Single-threaded by need: ranks die with the thread that started them.
class job {
 public:
  /// `guard` is the socket to the guard; its end means that the guard is dead.
  job(const launch_options& options, const original_state& original, int guard);

  /// Returns lcirun's exit code, with no process left below this one.
  int run();

 private:
  struct rank_state {
    pid_t pid = -1;
    int pmi = -1;
    network::pmi1::line_buffer requests;
    bool running = false;
    bool done = false;     // exited with 0
    double closed_at = 0;  // when it closed its PMI connection; 0: it has not
  };
  enum class phase_t { running, lingering, ending, killing };

  void start_ranks();
  /// Serves one portion of what a rank has sent. False: there was nothing.
  bool read_requests(int rank);
  void handle_request(int rank, const std::string& line);
  void send(int rank, const std::string& line);
  void read_guard();

  void reap();
  void on_exit(rank_state& rank, int status);
  void check_barrier();

  void end(int code, const std::string& why);
  void kill_all();
  void signal_all(int signal);
  void forward(int signal);
  bool finished();
  double until_next_deadline() const;
  void on_time();

  std::string name_of(const rank_state& rank) const;
  template <class Predicate>
  std::string names(Predicate&& which) const;
  void say(const std::string& text) const;

  const launch_options& options_;
  const original_state& original_;
  const int guard_;
  event_loop loop_;
  std::unique_ptr<labelled_output> output_;
  std::vector<rank_state> ranks_;
  std::unique_ptr<pmi_server> server_;
  std::string job_id_;

  phase_t phase_ = phase_t::running;
  int code_ = 0;
  bool ended_ = false;  // code_ is final
  int running_ = 0;
  int absent_ = 0;        // ranks that are done or have closed their connection
  bool children_ = true;  // there may be processes below this one
  bool reap_ = false;
  bool stuck_ = false;  // processes that can't be killed
  double timeout_at_ = 0, phase_ends_ = 0, give_up_at_ = 0, drop_at_ = 0;
};

}  // namespace lci::launcher
