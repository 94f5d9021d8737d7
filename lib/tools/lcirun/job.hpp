// One job: has hosts run the ranks, serves their PMI requests, and ends all ranks when one fails. Runs in a child
// process of the one that the user started (see guard.hpp).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "lib/bootstrap/pmi1_wire.hpp"
#include "lib/tools/lcirun/event_loop.hpp"
#include "lib/tools/lcirun/guard.hpp"
#include "lib/tools/lcirun/job_output.hpp"
#include "lib/tools/lcirun/launch_options.hpp"
#include "lib/tools/lcirun/pmi_server.hpp"
#include "lib/tools/lcirun/remote_host.hpp"

namespace lci::launcher {

/// Must stay in one thread: ranks die with the thread that started them.
class job : private host_events {
 public:
  /// `guard` is the socket to the guard; when it closes, the guard is dead.
  job(const launch_options& options, const original_state& original, int guard);
  ~job() override;

  /// Returns lcirun's exit code, with no process left below this one.
  int run();

 private:
  struct rank_state {
    pid_t pid = -1;  // on its host
    host* where = nullptr;
    network::pmi1::line_buffer requests;
    bool running = true;   // or not yet started
    bool done = false;     // exited with 0
    double closed_at = 0;  // when it closed its PMI connection; 0: still open
    bool open[3] = {};     // its streams that lcirun forwards
  };
  enum class phase_t { running, lingering, ending, killing };

  void start();
  void add_remote_hosts(const std::vector<host_share>& shares);
  void reap_remote();
  void handle_request(int rank, const std::string& line);
  void send(int rank, const std::string& line);
  void read_guard();

  void on_started(int rank, pid_t pid) override;
  void on_requests(int rank, const char* data, size_t size) override;
  void on_no_requests(int rank) override;
  void on_unread(int rank) override;
  void on_output(int rank, int stream, const char* data, size_t size) override;
  void on_output_end(int rank, int stream) override;
  void on_exit(int rank, int wait_status) override;
  void on_report(const std::string& text) override;
  void on_lost(host& where, const std::string& why) override;

  void check_barrier();
  void end(int code, const std::string& why);
  void kill_all();
  void linger_no_longer();
  void forward(const guard_order& order);
  bool processes() const;
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
  const std::string job_id_;
  const std::vector<host_share> shares_;
  event_loop loop_;
  const output_files files_;
  job_output output_;
  std::vector<rank_state> ranks_;
  pmi_server server_;
  std::unique_ptr<listener> listener_;
  std::vector<remote_host*> remote_;  // owned by hosts_
  std::vector<std::unique_ptr<host>> hosts_;
  int children_ = -1;  // signalfd that reports the end of an ssh
  bool reap_ = false;

  phase_t phase_ = phase_t::running;
  int code_ = 0;
  bool ended_ = false;  // code_ is final
  int running_;
  int absent_ = 0;        // ranks that are done or have closed their connection
  int open_outputs_ = 0;  // streams that lcirun forwards
  bool stuck_ = false;    // processes that can't be killed
  double timeout_at_ = 0, phase_ends_ = 0, give_up_at_ = 0, drop_at_ = 0;
};

}  // namespace lci::launcher
