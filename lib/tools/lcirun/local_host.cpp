#include "lib/tools/lcirun/local_host.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>

#include "lib/tools/lcirun/processes.hpp"

namespace lci::launcher {

namespace {

constexpr int longest_abort_message = 100;  // in reads; more than a socket's buffer holds

}  // namespace

local_host::local_host(event_loop& loop, host_events& events, const launch_options& options, host_share share,
                       const original_state& original, const std::string& job_id, streams connected)
    : host(share),
      loop_(loop),
      events_(events),
      streams_(connected),
      report_(options.report_bindings),
      spawn_(options, share, original, job_id),
      ranks_(size_t(share.count)) {
  signals_ = watch_children(loop_, [this] { reap_ = true; });
}

local_host::~local_host() { ::close(signals_); }

void local_host::start() {
  for (int i = share().first; i < share().first + share().count; ++i) {
    rank_wiring wiring;
    wiring.capture = streams_.capture;
    if (streams_.files != nullptr) {
      wiring.out = streams_.files->descriptor(i, stream_out);
      wiring.error = streams_.files->descriptor(i, stream_error);
    }
    wiring.input = i == 0 ? streams_.input : -1;
    const started_rank started = spawn_.start(i, wiring);
    if (i == 0 && streams_.input < 0) {
      // Only rank 0 may hold the input open, so that its writer notices when rank 0 closes it.
      const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
      if (null >= 0) dup2(null, STDIN_FILENO);
      if (null > STDIN_FILENO) ::close(null);
    }
    rank_state& rank = at(i);
    rank = {i, started.pid, started.pmi, true};
    loop_.watch(rank.pmi, EPOLLIN, [this, &rank] { read_requests(rank); });
    for (const auto& [stream, fd] : {std::pair(stream_out, started.out), {stream_error, started.error}}) {
      if (fd < 0) continue;
      pipe_end& end = pipes_.emplace_back(pipe_end{i, stream, fd});
      loop_.watch(fd, EPOLLIN, [this, &end] { read(end); });
    }
    events_.on_started(i, started.pid);
    if (report_) {
      events_.on_report("rank " + std::to_string(i) + (share().host.empty() ? " " : " on " + share().host + " ") +
                        spawn_.describe_binding(i));
    }
  }
}

bool local_host::read_requests(rank_state& rank) {
  if (rank.pmi < 0) return false;
  char bytes[4096];
  const ssize_t n = recv(rank.pmi, bytes, sizeof bytes, MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return false;
  if (n <= 0) {
    loop_.forget(rank.pmi);
    ::close(rank.pmi);
    rank.pmi = -1;
    events_.on_no_requests(rank.rank);
    return false;
  }
  events_.on_requests(rank.rank, bytes, size_t(n));
  return true;
}

void local_host::send(int number, const std::string& text) {
  rank_state& rank = at(number);
  if (rank.pmi < 0) return;
  const ssize_t n = ::send(rank.pmi, text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n == ssize_t(text.size())) return;
  if (n < 0 && (errno == EPIPE || errno == ECONNRESET)) return;  // its exit will be reported
  events_.on_unread(number);
}

void local_host::update() {
  if (!reap_) return;
  reap_ = false;
  for (;;) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid == 0) break;
    if (pid < 0) {
      if (errno == EINTR) continue;
      children_ = false;  // ECHILD: no ranks, and no processes they started
      break;
    }
    const auto rank = std::find_if(ranks_.begin(), ranks_.end(),
                                   [pid](const rank_state& each) { return each.running && each.pid == pid; });
    if (rank == ranks_.end()) continue;
    // Handle what it sent before it ended, perhaps an abort. Limited, since a process that it has started may go on
    // sending.
    for (int i = 0; i < longest_abort_message && read_requests(*rank); ++i) {
    }
    rank->running = false;
    events_.on_exit(rank->rank, status);
  }
}

int local_host::signal_all(int signal) {
  const int count = signal_descendants(signal);
  // Without /proc, only the ranks themselves can be signalled.
  if (count == 0) forward(signal);
  return count;
}

void local_host::forward(int signal) {
  for (const rank_state& rank : ranks_) {
    if (rank.running) kill(rank.pid, signal);
  }
}

void local_host::read(pipe_end& from) {
  char bytes[16384];
  const ssize_t n = ::read(from.fd, bytes, sizeof bytes);
  if (n > 0) {
    events_.on_output(from.rank, from.stream, bytes, size_t(n));
  } else if (n == 0 || errno != EINTR) {
    close(from);
  }
}

void local_host::close(pipe_end& from) {
  if (from.fd < 0) return;
  if (reading_[from.stream]) loop_.forget(from.fd);
  ::close(from.fd);
  from.fd = -1;
  events_.on_output_end(from.rank, from.stream);
}

void local_host::read_output(int stream, bool yes) {
  if (reading_[stream] == yes) return;
  reading_[stream] = yes;
  for (pipe_end& each : pipes_) {
    if (each.stream != stream || each.fd < 0) continue;
    if (yes) {
      loop_.watch(each.fd, EPOLLIN, [this, &each] { read(each); });
    } else {
      loop_.forget(each.fd);
    }
  }
}

void local_host::close_output(int stream) {
  for (pipe_end& each : pipes_) {
    if (each.stream == stream) close(each);
  }
}

}  // namespace lci::launcher
