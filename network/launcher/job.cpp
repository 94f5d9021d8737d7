#include "network/launcher/job.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <system_error>

#include "network/launcher/processes.hpp"

namespace lci::launcher {

namespace {

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
    kill_descendants(5);
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

bool job::read_requests(int number) {
  rank_state& rank = ranks_[size_t(number)];
  if (rank.pmi < 0) return false;
  char bytes[4096];
  const ssize_t n = recv(rank.pmi, bytes, sizeof bytes, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return false;
  if (n <= 0) {
    loop_.forget(rank.pmi);
    close(rank.pmi);
    rank.pmi = -1;
    rank.closed_at = now();
    if (!rank.done) ++absent_;
    return false;
  }
  if (ended_) return true;  // what it says does not matter any more
  rank.requests.append(bytes, size_t(n));
  std::string line;
  while (!ended_ && rank.requests.next(line)) handle_request(number, line);
  if (!ended_ && rank.requests.overlong()) {
    end(exit_failure, name_of(rank) + " sent a PMI request of more than " +
                          std::to_string(network::pmi1::max_line) + " bytes");
  }
  return true;
}

void job::handle_request(int number, const std::string& line) {
  const verdict result = server_->on_request(number, line);
  const std::string name = name_of(ranks_[size_t(number)]);
  if (result.kind == verdict::abort) {
    end(result.code, name + " aborted the job with code " + std::to_string(result.code));
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

}  // namespace lci::launcher
