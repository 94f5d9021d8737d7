// The end of a job: ranks that exit, barriers that can't complete any more, and who gets which
// signal when.
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>

#include "network/launcher/job.hpp"
#include "network/launcher/processes.hpp"

namespace lci::launcher {

namespace {

constexpr double grace = 2;           // between SIGTERM and SIGKILL
constexpr double linger = 0.5;        // for what ranks have left running, e.g. a `tee`
constexpr double sweep_again = 0.02;  // a process may have been forked while we looked
constexpr double give_up_after = 5;   // a process of another user can't be killed
constexpr double late_barrier = 2;    // between a rank's closed connection and its exit
constexpr int most_last_words = 100;  // more than a socket holds
constexpr double drop_after = 5;      // output of a failed job that nobody reads

}  // namespace

void job::reap() {
  reap_ = false;
  for (;;) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid == 0) break;
    if (pid < 0) {
      if (errno == EINTR) continue;
      children_ = false;  // ECHILD: neither ranks nor what they have started
      break;
    }
    const auto rank = std::find_if(ranks_.begin(), ranks_.end(), [pid](const rank_state& each) {
      return each.running && each.pid == pid;
    });
    if (rank != ranks_.end()) on_exit(*rank, status);
  }
  if (running_ == 0 && children_ && phase_ == phase_t::running) {
    phase_ = phase_t::lingering;
    phase_ends_ = now() + linger;
  }
}

void job::on_exit(rank_state& rank, int status) {
  // Its last words, an abort perhaps. Not for ever: a process that it has started may go on
  // talking.
  for (int i = 0; i < most_last_words && read_requests(int(&rank - ranks_.data())); ++i) {
  }
  rank.running = false;
  --running_;
  if (status != 0) {
    end(exit_code(status), name_of(rank) + " " + describe_exit(status));
    return;
  }
  rank.done = true;
  if (rank.closed_at == 0) ++absent_;
}

void job::check_barrier() {
  if (ended_ || absent_ == 0 || !server_->barrier_begun()) return;
  const auto waits = [this](const rank_state& rank) {
    return server_->in_barrier(int(&rank - ranks_.data()));
  };
  for (const rank_state& rank : ranks_) {
    const bool closed = rank.closed_at != 0 && now() >= rank.closed_at + late_barrier;
    if (!rank.done && !closed) continue;
    end(exit_failure, name_of(rank) +
                          (rank.done ? " exited with code 0" : " closed its PMI connection") +
                          " without joining the barrier in which wait " + names(waits));
    return;
  }
}

void job::end(int code, const std::string& why) {
  if (ended_) return;
  ended_ = true;
  code_ = code;
  say(why + (running_ > 0 ? "; ending the job" : ""));
  signal_all(SIGTERM);
  signal_all(SIGCONT);  // a stopped one could not react
  phase_ = phase_t::ending;
  phase_ends_ = now() + grace;
}

void job::kill_all() {
  if (phase_ != phase_t::killing) give_up_at_ = now() + give_up_after;
  phase_ = phase_t::killing;
  signal_all(SIGKILL);
  phase_ends_ = now() + sweep_again;
}

void job::signal_all(int signal) {
  // Without /proc only the ranks themselves can be reached.
  if (signal_descendants(signal) == 0) forward(signal);
}

void job::forward(int signal) {
  for (const rank_state& rank : ranks_) {
    if (rank.running) kill(rank.pid, signal);
  }
}

bool job::finished() {
  if (stuck_) return true;
  if (running_ > 0 || children_) return false;
  if (output_ == nullptr || output_->finished()) return true;
  if (code_ != 0 && drop_at_ == 0) drop_at_ = now() + drop_after;
  return false;
}

double job::until_next_deadline() const {
  double next = 0;
  const auto consider = [&next](double time) {
    if (time > 0 && (next == 0 || time < next)) next = time;
  };
  if (children_ && phase_ != phase_t::running) consider(phase_ends_);
  if (!ended_) {
    consider(timeout_at_);
    if (absent_ > 0 && server_->barrier_begun()) {
      for (const rank_state& rank : ranks_) {
        if (rank.closed_at != 0) consider(rank.closed_at + late_barrier);
      }
    }
  }
  consider(drop_at_);
  return next == 0 ? -1 : std::max(0.0, next - now());
}

void job::on_time() {
  const double time = now();
  if (!ended_ && timeout_at_ > 0 && time >= timeout_at_ && running_ > 0) {
    char seconds[32];
    snprintf(seconds, sizeof seconds, "%g", options_.timeout);
    end(exit_timeout, "after " + std::string(seconds) + " s (--timeout) there still run " +
                          names([](const rank_state& rank) { return rank.running; }));
  }
  if (drop_at_ > 0 && time >= drop_at_) output_->drop();
  if (!children_ || phase_ == phase_t::running || time < phase_ends_) return;
  if (phase_ == phase_t::lingering) {
    ended_ = true;
    const int left = signal_descendants(SIGTERM);
    if (left > 0) {
      say("ending " + std::to_string(left) + " process(es) that ranks have left running");
    }
    phase_ = phase_t::ending;
    phase_ends_ = time + grace;
  } else if (phase_ == phase_t::killing && time >= give_up_at_) {
    say("some processes of the job could not be killed");
    stuck_ = true;
  } else {
    kill_all();
  }
}

std::string job::name_of(const rank_state& rank) const {
  return "rank " + std::to_string(&rank - ranks_.data()) + " (pid " + std::to_string(rank.pid) +
         ")";
}

template <class Predicate>
std::string job::names(Predicate&& which) const {
  constexpr int most = 8;
  std::string text;
  int count = 0;
  for (const rank_state& rank : ranks_) {
    if (!which(rank) || ++count > most) continue;
    text += (text.empty() ? "" : ", ") + name_of(rank);
  }
  if (count > most) text += " and " + std::to_string(count - most) + " more";
  return text;
}

void job::say(const std::string& text) const {
  if (!options_.quiet) complain(text);
}

}  // namespace lci::launcher
