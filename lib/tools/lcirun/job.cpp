#include "lib/tools/lcirun/job.hpp"

#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdio>

#include "lib/tools/lcirun/handshake.hpp"
#include "lib/tools/lcirun/local_host.hpp"
#include "lib/tools/lcirun/processes.hpp"
#include "lib/tools/lcirun/ranks_and_hosts.hpp"
#include "lib/tools/lcirun/throw_errno.hpp"

namespace lci::launcher {

namespace {

std::string new_job_id() {
  std::string text = "lcirun_" + std::to_string(getpid()) + "_";
  for (const unsigned char byte : random_bytes()) {
    char digits[3];
    snprintf(digits, sizeof digits, "%02x", byte);
    text += digits;
  }
  return text;
}

job_layout layout_of(const launch_options& options, const std::vector<host_share>& shares) {
  job_layout layout;
  for (const host_share& share : shares) layout.ranks_of_nodes.push_back(share.count);
  for (const program_part& part : options.parts) layout.ranks_of_parts.push_back(part.ranks);
  return layout;
}

}  // namespace

job::job(const launch_options& options, const original_state& original, int guard)
    : options_(options),
      original_(original),
      guard_(guard),
      job_id_(new_job_id()),
      shares_(place(options)),
      files_((allow_many_files(), options), shares_, job_id_),
      output_(loop_, options.label, files_,
              {[this](int stream, bool yes) {
                 for (const auto& each : hosts_) each->read_output(stream, yes);
               },
               [this](int stream) {
                 for (const auto& each : hosts_) each->close_output(stream);
               }}),
      ranks_(size_t(options.ranks)),
      server_(
          options.ranks, job_id_, [this](int rank, const std::string& line) { send(rank, line); },
          layout_of(options, shares_)),
      running_(options.ranks) {}

job::~job() {
  if (children_ >= 0) close(children_);
}

int job::run() {
  try {
    loop_.watch(guard_, EPOLLIN, [this] { read_guard(); });
    start();
    while (!finished()) {
      loop_.wait(until_next_deadline());
      // After all requests, so that an abort is handled before the exit that follows it.
      if (reap_) reap_remote();
      for (const auto& each : hosts_) each->update();
      check_barrier();
      on_time();
    }
  } catch (const std::exception& error) {
    say("cannot run the job: " + text_of(error));
    kill_descendants(5);
    return exit_failure;
  }
  if (!remote_.empty()) kill_descendants(5);  // an ssh that has not ended
  return code_ == 0 && output_.incomplete() ? exit_failure : code_;
}

void job::start() {
  if (options_.hosts.empty()) {
    local_host::streams connected;
    connected.capture = options_.label;
    if (!options_.output.empty() || !options_.error.empty()) connected.files = &files_;
    host_events& events = *this;
    hosts_.push_back(std::make_unique<local_host>(loop_, events, options_, shares_[0], original_, job_id_, connected));
  } else {
    add_remote_hosts(shares_);
  }
  const bool through_here = options_.label || !remote_.empty();
  for (const auto& each : hosts_) {
    for (int i = 0; i < each->share().count; ++i) {
      rank_state& rank = ranks_[size_t(each->share().first + i)];
      rank.where = each.get();
      rank.open[stream_out] = rank.open[stream_error] = through_here;
      open_outputs_ += through_here ? 2 : 0;
    }
  }
  for (const auto& each : hosts_) each->start();
  if (options_.timeout > 0) timeout_at_ = now() + options_.timeout;
}

void job::add_remote_hosts(const std::vector<host_share>& shares) {
  signal(SIGTTIN, SIG_IGN);  // a job in the background reads nothing from the terminal
  listener_ = std::make_unique<listener>(loop_, shares.size(), options_.verbose, [this](int number, int socket) {
    remote_[size_t(number)]->connected(socket);
  });
  host_events& events = *this;
  for (size_t i = 0; i < shares.size(); ++i) {
    auto added =
        std::make_unique<remote_host>(loop_, events, options_, shares[i],
                                      remote_host::identity{int(i), listener_->key(i), listener_->port(), job_id_});
    remote_.push_back(added.get());
    hosts_.push_back(std::move(added));
  }
  children_ = watch_children(loop_, [this] { reap_ = true; });
}

void job::reap_remote() {
  reap_ = false;
  int status = 0;
  for (pid_t pid; (pid = waitpid(-1, &status, WNOHANG)) > 0;) {
    for (remote_host* each : remote_) {
      if (each->ended(pid, status)) break;
    }
  }
}

void job::on_requests(int number, const char* data, size_t size) {
  if (ended_) return;  // its requests no longer matter
  rank_state& rank = ranks_[size_t(number)];
  rank.requests.append(data, size);
  std::string line;
  while (!ended_ && rank.requests.next(line)) handle_request(number, line);
  if (!ended_ && rank.requests.overlong()) {
    end(exit_failure,
        name_of(rank) + " sent a PMI request of more than " + std::to_string(network::pmi1::max_line) + " bytes");
  }
}

void job::on_no_requests(int number) {
  rank_state& rank = ranks_[size_t(number)];
  if (rank.closed_at != 0) return;
  rank.closed_at = now();
  if (!rank.done) ++absent_;
}

void job::handle_request(int number, const std::string& line) {
  const verdict result = server_.on_request(number, line);
  const std::string name = name_of(ranks_[size_t(number)]);
  if (result.kind == verdict::abort) {
    end(result.code, name + " aborted the job with code " + std::to_string(result.code));
  } else if (result.kind == verdict::malformed) {
    end(exit_failure, name + " sent a bad PMI request: " + result.text);
  }
}

void job::send(int number, const std::string& line) { ranks_[size_t(number)].where->send(number, line + "\n"); }

void job::on_unread(int number) {
  end(exit_failure, name_of(ranks_[size_t(number)]) + " sends PMI requests without reading the answers");
}

void job::on_started(int number, pid_t pid) {
  rank_state& rank = ranks_[size_t(number)];
  rank.pid = pid;
  if (options_.verbose) say(name_of(rank) + " has been started");
}

void job::on_report(const std::string& text) { complain(text); }

void job::on_output(int rank, int stream, const char* data, size_t size) {
  if (ranks_[size_t(rank)].open[stream]) output_.feed(rank, stream, data, size);
}

void job::on_output_end(int number, int stream) {
  rank_state& rank = ranks_[size_t(number)];
  if (!rank.open[stream]) return;
  rank.open[stream] = false;
  --open_outputs_;
  output_.finish(number, stream);
}

void job::read_guard() {
  guard_order order{};
  const ssize_t n = recv(guard_, &order, sizeof order, MSG_DONTWAIT);
  if (n < 0) return;
  if (n == 0 || order.kill_hard) {
    if (n == 0) loop_.forget(guard_);
    if (!ended_) {
      ended_ = true;
      code_ = exit_signal_base + (n == 0 ? SIGKILL : SIGINT);
    }
    output_.drop();
    kill_all();
    // Proxies end by themselves when this process does, and no process waits for this one any more.
    if (n == 0 && !remote_.empty()) stuck_ = true;
  } else {
    forward(order);
  }
}

}  // namespace lci::launcher
