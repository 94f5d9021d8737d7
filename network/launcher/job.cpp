#include "network/launcher/job.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <system_error>

#include "network/launcher/processes.hpp"

namespace lci::launcher {

namespace {

constexpr double grace = 2;           // between SIGTERM and SIGKILL
constexpr double linger = 0.5;        // for what ranks have left running, e.g. a `tee`
constexpr double sweep_again = 0.02;  // a process may have been forked while we looked
constexpr double give_up_after = 5;   // a process of another user can't be killed
constexpr double late_barrier = 2;    // between a rank's closed connection and its exit
constexpr double drop_after = 5;      // output of a failed job that nobody reads

std::string new_job_id() {
  uint64_t random[2];
  if (getrandom(random, sizeof random, 0) != sizeof random) {
    throw std::system_error(errno, std::generic_category(), "getrandom");
  }
  char text[80];
  snprintf(text, sizeof text, "lcirun_%d_%016llx%016llx", getpid(),
           static_cast<unsigned long long>(random[0]), static_cast<unsigned long long>(random[1]));
  return text;
}

/// One socket and two pipes a rank may be more than the soft limit allows.
void allow_many_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

}  // namespace

job::job(const launch_options& options, const original_state& original, int guard)
    : options_(options),
      original_(original),
      guard_(guard),
      ranks_(size_t(options.ranks)),
      job_id_(new_job_id()) {
  server_ = std::make_unique<pmi_server>(
      options.ranks, job_id_, [this](int rank, const std::string& line) { send(rank, line); });
}

int job::run() {
  try {
    allow_many_files();
    sigset_t child;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);  // blocked by the guard before it forked us
    const int signals = signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0) throw std::system_error(errno, std::generic_category(), "signalfd");
    loop_.watch(signals, EPOLLIN, [this, signals] {
      signalfd_siginfo info[8];
      while (read(signals, info, sizeof info) > 0) {
      }
      reap_ = true;
    });
    loop_.watch(guard_, EPOLLIN, [this] { read_guard(); });
    start_ranks();
    while (!finished()) {
      loop_.wait(until_next_deadline());
      // After all requests, so that an abort is known before the exit that follows it.
      if (reap_) reap();
      check_barrier();
      on_time();
    }
  } catch (const std::system_error& error) {
    say(std::string("cannot run the job: ") + error.what());
    kill_descendants(give_up_after);
    return exit_failure;
  }
  return code_;
}

void job::start_ranks() {
  if (options_.label) output_ = std::make_unique<labelled_output>(loop_);
  const spawner spawn(options_, original_, job_id_);
  for (int i = 0; i < options_.ranks; ++i) {
    const started_rank started = spawn.start(i);
    if (i == 0) {
      // Rank 0 alone reads the input; its writer shall notice when it stops doing so.
      const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
      if (null >= 0) dup2(null, STDIN_FILENO);
      if (null > STDIN_FILENO) close(null);
    }
    rank_state& rank = ranks_[size_t(i)];
    rank.pid = started.pid;
    rank.pmi = started.pmi;
    rank.running = true;
    ++running_;
    loop_.watch(rank.pmi, EPOLLIN, [this, i] { read_requests(i); });
    if (output_ != nullptr) output_->add(i, started.out, started.error);
  }
  if (options_.timeout > 0) timeout_at_ = now() + options_.timeout;
}

// ---- requests ----

void job::read_requests(int number) {
  rank_state& rank = ranks_[size_t(number)];
  while (rank.pmi >= 0) {
    char bytes[4096];
    const ssize_t n = recv(rank.pmi, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
    if (n <= 0) {
      loop_.forget(rank.pmi);
      close(rank.pmi);
      rank.pmi = -1;
      rank.closed_at = now();
      if (!rank.done) ++absent_;
      return;
    }
    rank.requests.append(bytes, size_t(n));
    std::string line;
    while (!ended_ && rank.requests.next(line)) handle_request(number, line);
    if (!ended_ && rank.requests.overlong()) {
      end(exit_failure, name_of(rank) + " sent a PMI request of more than " +
                            std::to_string(network::pmi1::max_line) + " bytes");
    }
    if (ended_) return;
  }
}

void job::handle_request(int number, const std::string& line) {
  const verdict result = server_->on_request(number, line);
  const std::string name = name_of(ranks_[size_t(number)]);
  if (result.kind == verdict::abort) {
    end(result.code & 0xff, name + " aborted the job with code " + std::to_string(result.code));
  } else if (result.kind == verdict::malformed) {
    end(exit_failure, name + " sent a bad PMI request: " + result.text);
  }
}

void job::send(int number, const std::string& line) {
  rank_state& rank = ranks_[size_t(number)];
  if (rank.pmi < 0) return;
  const std::string text = line + "\n";
  const ssize_t n = ::send(rank.pmi, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n == ssize_t(text.size())) return;
  if (n < 0 && (errno == EPIPE || errno == ECONNRESET)) return;  // its exit will tell more
  end(exit_failure, name_of(rank) + " sends PMI requests without reading the answers");
}

void job::read_guard() {
  unsigned char order = 0;
  const ssize_t n = recv(guard_, &order, 1, MSG_DONTWAIT);
  if (n < 0) return;
  if (n == 0 || order == kill_hard) {
    if (n == 0) loop_.forget(guard_);
    if (!ended_) {
      ended_ = true;
      code_ = exit_signal_base + (n == 0 ? SIGKILL : SIGINT);
    }
    if (output_ != nullptr) output_->drop();
    kill_all();
  } else {
    forward(order);
  }
}

// ---- ranks that end ----

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
  read_requests(int(&rank - ranks_.data()));
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

// ---- the job's end ----

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

// ---- texts ----

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
