// The end of a job: exits of ranks, barriers that can't complete any more, and which signals are sent when.
#include <algorithm>
#include <csignal>
#include <cstdio>

#include "lib/tools/lcirun/job.hpp"
#include "lib/tools/lcirun/processes.hpp"

namespace lci::launcher {

namespace {

constexpr double grace = 2;           // between SIGTERM and SIGKILL
constexpr double linger = 0.5;        // for processes that ranks have left running, e.g. a `tee`
constexpr double sweep_again = 0.02;  // a process may have been forked during the sweep
constexpr double give_up_after = 5;   // a process of another user can't be killed
constexpr double late_barrier = 2;    // between a rank's closed connection and its exit
constexpr double drop_after = 5;      // output of a failed job that nobody reads
constexpr double never = 1e12;

}  // namespace

void job::on_exit(int number, int status) {
  rank_state& rank = ranks_[size_t(number)];
  if (!rank.running) return;
  rank.running = false;
  --running_;
  if (status != 0) {
    end(exit_code(status), name_of(rank) + " " + describe_exit(status));
    return;
  }
  rank.done = true;
  if (rank.closed_at == 0) ++absent_;
}

void job::on_lost(host& where, const std::string& why) {
  const host_share& share = where.share();
  std::string whose = "its rank " + std::to_string(share.first);
  if (share.count > 1) {
    whose = "its ranks " + std::to_string(share.first) + "-" + std::to_string(share.first + share.count - 1);
  }
  end(exit_failure, "host " + share.host + " is lost, and " + whose + ": " + why);
  for (int i = share.first; i < share.first + share.count; ++i) {
    rank_state& rank = ranks_[size_t(i)];
    if (rank.running) --running_;
    rank.running = false;
    for (const int stream : {stream_out, stream_error}) on_output_end(i, stream);
  }
}

void job::check_barrier() {
  if (ended_ || absent_ == 0 || !server_.barrier_begun()) return;
  const auto waits = [this](const rank_state& rank) { return server_.in_barrier(int(&rank - ranks_.data())); };
  for (const rank_state& rank : ranks_) {
    const bool closed = rank.closed_at != 0 && now() >= rank.closed_at + late_barrier;
    if (!rank.done && !closed) continue;
    end(exit_failure, name_of(rank) + (rank.done ? " exited with code 0" : " closed its PMI connection") +
                          " without joining the barrier; waiting in it: " + names(waits));
    return;
  }
}

void job::end(int code, const std::string& why) {
  if (ended_) return;
  ended_ = true;
  code_ = code;
  say(why + (running_ > 0 ? "; ending the job" : ""));
  for (const auto& each : hosts_) {
    each->signal_all(SIGTERM);
    each->signal_all(SIGCONT);  // a stopped process could not react
  }
  phase_ = phase_t::ending;
  phase_ends_ = now() + grace;
}

void job::kill_all() {
  if (phase_ != phase_t::killing) give_up_at_ = now() + give_up_after;
  phase_ = phase_t::killing;
  for (const auto& each : hosts_) each->signal_all(SIGKILL);
  phase_ends_ = now() + sweep_again;
}

void job::linger_no_longer() {
  ended_ = true;
  std::string where;
  for (const auto& each : hosts_) {
    const int left = each->signal_all(SIGTERM);
    if (left == 0) continue;
    if (each->away()) {
      where += (where.empty() ? "" : ", ") + each->share().host;
    } else {
      say("ending " + std::to_string(left) + " process(es) that ranks have left running");
    }
  }
  if (!where.empty()) say("ending processes that ranks have left running on " + where);
  phase_ = phase_t::ending;
  phase_ends_ = now() + grace;
}

void job::forward(const guard_order& order) {
  std::string awaited;
  for (const remote_host* each : remote_) {
    if (each->awaited()) awaited += (awaited.empty() ? "" : ", ") + each->share().host;
  }
  const bool deadly = order.signal != SIGUSR1 && order.signal != SIGUSR2;
  if (deadly && !awaited.empty()) {
    end(exit_signal_base + order.signal,
        "signal " + std::to_string(order.signal) + " came while waiting for " + awaited + " to connect");
    return;
  }
  for (const auto& each : hosts_) {
    // The terminal has sent its signals to local ranks as well: they are in our process group.
    if (!order.from_terminal || each->away()) each->forward(order.signal);
  }
}

bool job::processes() const {
  return std::any_of(hosts_.begin(), hosts_.end(), [](const auto& each) { return !each->empty(); });
}

bool job::finished() {
  if (stuck_) return true;
  if (running_ > 0 || processes()) return false;
  const bool all = std::all_of(hosts_.begin(), hosts_.end(), [](const auto& each) { return each->finished(); });
  if (all && open_outputs_ == 0 && output_.finished()) return true;
  if (code_ != 0 && drop_at_ == 0) drop_at_ = now() + drop_after;
  return false;
}

double job::until_next_deadline() const {
  double next = 0;
  const auto consider = [&next](double time) {
    if (time > 0 && (next == 0 || time < next)) next = time;
  };
  if (phase_ != phase_t::running && processes()) consider(phase_ends_);
  for (const auto& each : hosts_) consider(each->deadline());
  if (!ended_) {
    if (running_ > 0) consider(timeout_at_);
    if (absent_ > 0 && server_.barrier_begun()) {
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
    end(exit_timeout, "after " + std::string(seconds) + " s (--timeout) these ranks are still running: " +
                          names([](const rank_state& rank) { return rank.running; }));
  }
  if (drop_at_ > 0 && time >= drop_at_) {
    output_.drop();
    drop_at_ = never;
  }
  const bool left = processes();
  if (running_ == 0 && left && phase_ == phase_t::running) {
    phase_ = phase_t::lingering;
    phase_ends_ = time + linger;
  }
  if (!left || phase_ == phase_t::running || time < phase_ends_) return;
  if (phase_ == phase_t::lingering) {
    linger_no_longer();
  } else if (phase_ == phase_t::killing && time >= give_up_at_) {
    say("some processes of the job could not be killed");
    stuck_ = true;
  } else {
    kill_all();
  }
}

std::string job::name_of(const rank_state& rank) const {
  const std::string host = rank.where->share().host;
  const std::string pid = rank.pid < 0 ? "not started" : "pid " + std::to_string(rank.pid);
  return "rank " + std::to_string(&rank - ranks_.data()) + " (" + pid + (host.empty() ? "" : " on " + host) + ")";
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
