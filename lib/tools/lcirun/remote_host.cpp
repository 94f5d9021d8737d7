#include "lib/tools/lcirun/remote_host.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sstream>

#include "lib/bootstrap/pmi1_wire.hpp"
#include "lib/tools/lcirun/processes.hpp"
#include "lib/tools/lcirun/setup.hpp"
#include "lib/tools/lcirun/throw_errno.hpp"

namespace lci::launcher {

namespace {

constexpr double ssh_end_timeout = 3;  // seconds for ssh to end after its proxy has, or after the host is lost

constexpr unsigned out_ended = 1, error_ended = 2, exited = 4;

/// Quotes a word for the other host's shell.
std::string quoted(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

}  // namespace

bool is_this_machine(const std::string& host) {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  const std::string mine = name;
  return host == "localhost" || host == mine || host == mine.substr(0, mine.find('.'));
}

remote_host::remote_host(event_loop& loop, host_events& events, const launch_options& options, host_share share,
                         identity who)
    : host(std::move(share)),
      loop_(loop),
      events_(events),
      options_(options),
      who_(std::move(who)),
      direct_(is_this_machine(this->share().host)),
      happened_(size_t(this->share().count)) {}

remote_host::~remote_host() = default;

std::vector<std::string> remote_host::command() const {
  const std::string proxy = options_.proxy.empty() ? own_path() : options_.proxy;
  if (direct_) return {own_path(), "--run-as-proxy"};
  std::vector<std::string> words;
  std::istringstream in(options_.ssh);
  for (std::string word; in >> word;) words.push_back(word);
  words.push_back(share().host);
  words.push_back("exec " + quoted(proxy) + " --run-as-proxy");
  return words;
}

void remote_host::start() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw_errno("pipe");
  const pid_t parent = getpid();
  ssh_ = fork();
  if (ssh_ < 0) throw_errno("fork");
  if (ssh_ == 0) {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0 || getppid() != parent) _exit(exit_failure);
    become_ssh(ends[0]);
  }
  close(ends[0]);
  deadline_ = now() + options_.host_timeout;
  // Errors of this connection are ignored: the end of ssh reports them.
  setup_ = std::make_unique<connection>(loop_, ends[1], max_setup, connection::handlers{{}, [](const std::string&) {}});
  send_setup();
}

void remote_host::become_ssh(int input) const {
  dup2(input, STDIN_FILENO);
  dup2(STDERR_FILENO, STDOUT_FILENO);  // output of a login shell is not the ranks'
  sigset_t none;
  sigemptyset(&none);
  if (direct_) {
    setsid();  // as on other hosts, only lcirun sends signals
    unsetenv("SSH_CONNECTION");
  } else {
    // Signals of the terminal must not end ssh before the ranks could react to them.
    for (const int each : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2}) {
      signal(each, SIG_IGN);
    }
  }
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const auto words = command();
  std::vector<char*> arguments;
  for (const auto& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  execvp(arguments[0], arguments.data());
  complain("cannot execute '" + words[0] + "' (--ssh): " + strerror(errno));
  _exit(exit_not_found);
}

void remote_host::send_setup() {
  proxy_setup setup;
  setup.host = who_.number;
  setup.key = who_.key;
  setup.port = who_.port;
  setup.addresses = direct_ ? std::vector<std::string>{"127.0.0.1", "::1"} : listener::addresses();
  setup.job_id = who_.job_id;
  setup.share = share();
  setup.options = options_;
  if (setup.options.folder.empty() || setup.options.folder[0] != '/') {
    char here[4096] = "";
    if (getcwd(here, sizeof here) == nullptr) here[0] = '\0';
    setup.options.folder = std::string(here) + "/" + setup.options.folder;
  }
  setup.environment = environment_for_others();
  frame_writer frame = write_setup(setup);
  setup_->send(frame);
}

void remote_host::connected(int socket) {
  if (lost_) {  // connected too late
    close(socket);
    return;
  }
  deadline_ = 0;
  watch_peer(socket, options_.host_timeout);
  connection_ = std::make_unique<connection>(
      loop_, socket, max_frame,
      connection::handlers{[this](frame_t type, frame_reader& fields) { return on_frame(type, fields); },
                           [this](const std::string& why) { lose("the connection to its proxy broke: " + why); }});
  if (share().has(0)) input_ = std::make_unique<input_sender>(loop_, *connection_);
}

bool remote_host::on_frame(frame_t type, frame_reader& fields) {
  switch (type) {
    case frame_t::gone:
      if (!all(exited)) return false;
      gone_ = true;
      return true;
    case frame_t::done:
      if (!gone_ || !all(exited | out_ended | error_ended)) return false;
      done_ = true;
      finish();
      return true;
    case frame_t::orphaned:
      lose(std::string(fields.text()));
      return fields.good();
    case frame_t::input_taken:
      if (input_) input_->taken(size_t(fields.number(0, int64_t(input_window))));
      return input_ != nullptr;
    case frame_t::input_closed:
      if (input_) input_->stop();
      return input_ != nullptr;
    case frame_t::report:
      events_.on_report(network::pmi1::printable(fields.text()));
      return fields.good();
    default: {
      const int rank = fields.number(share().first, share().first + share().count - 1);
      return fields.good() && on_rank_frame(type, rank, fields);
    }
  }
}

bool remote_host::all(unsigned what) const {
  return std::all_of(happened_.begin(), happened_.end(), [what](unsigned each) { return (each & what) == what; });
}

bool remote_host::on_rank_frame(frame_t type, int rank, frame_reader& fields) {
  if (type == frame_t::started) {
    const int pid = fields.number(1, INT32_MAX);
    if (fields.good()) events_.on_started(rank, pid);
  } else if (type == frame_t::requests) {
    const auto bytes = fields.text();
    if (fields.good()) events_.on_requests(rank, bytes.data(), bytes.size());
  } else if (type == frame_t::no_requests) {
    events_.on_no_requests(rank);
  } else if (type == frame_t::unread) {
    events_.on_unread(rank);
  } else if (type == frame_t::output) {
    const int stream = fields.number(stream_out, stream_error);
    const auto bytes = fields.text();
    if (!fields.good()) return false;
    owed_[stream] += int64_t(bytes.size());
    events_.on_output(rank, stream, bytes.data(), bytes.size());
    read_output(stream, reading_[stream]);
  } else if (type == frame_t::output_end) {
    const int stream = fields.number(stream_out, stream_error);
    if (!fields.good()) return false;
    happened_[size_t(rank - share().first)] |= stream == stream_out ? out_ended : error_ended;
    events_.on_output_end(rank, stream);
  } else if (type == frame_t::exited) {
    const int status = fields.number(0, 0xffff);
    if (!fields.good()) return false;
    happened_[size_t(rank - share().first)] |= exited;
    events_.on_exit(rank, status);
  } else {
    return false;
  }
  return fields.good();
}

void remote_host::send(int rank, const std::string& text) {
  if (!connection_) return;
  frame_writer frame(frame_t::answer);
  connection_->send(frame.number(rank).text(text));
}

void remote_host::forward(int signal) {
  if (!connection_) return;
  frame_writer frame(frame_t::forward);
  connection_->send(frame.number(signal));
}

int remote_host::signal_all(int signal) {
  if (gone_ || lost_) return 0;
  if (!connection_) {  // no rank has been started, and none must be
    if (ssh_ > 0) kill(ssh_, direct_ ? SIGTERM : SIGKILL);
    lose("the job ended");
    return 0;
  }
  frame_writer frame(frame_t::signal_all);
  connection_->send(frame.number(signal));
  return 1;
}

void remote_host::read_output(int stream, bool yes) {
  reading_[stream] = yes;
  if (!yes || owed_[stream] == 0 || !connection_) return;
  frame_writer frame(frame_t::taken);
  connection_->send(frame.number(stream).number(owed_[stream]));
  owed_[stream] = 0;
}

void remote_host::close_output(int stream) {
  if (!connection_) return;
  frame_writer frame(frame_t::close_output);
  connection_->send(frame.number(stream));
}

bool remote_host::ended(pid_t pid, int wait_status) {
  if (pid != ssh_) return false;
  ssh_ = -1;
  if (done_ || lost_) {
    deadline_ = 0;
    return true;
  }
  const std::string who = direct_ ? "its proxy " : "'" + options_.ssh + "' ";
  if (connection_) {
    lose(who + describe_exit(wait_status) + " before the ranks did");
  } else {
    lose(who + describe_exit(wait_status) + " before lcirun had started there; is it at " +
         (options_.proxy.empty() ? own_path() : options_.proxy) + " (--proxy)?");
  }
  return true;
}

void remote_host::update() {
  if (deadline_ == 0 || now() < deadline_) return;
  if (done_ || lost_) {
    if (ssh_ > 0) kill(ssh_, SIGKILL);
    deadline_ = 0;
    return;
  }
  lose("it did not connect back to port " + std::to_string(who_.port) + " here within " +
       std::to_string(int(options_.host_timeout)) + " s: is there a firewall? (--host-timeout waits longer)");
}

void remote_host::lose(const std::string& why) {
  if (done_ || lost_) return;
  lost_ = true;
  finish();
  events_.on_lost(*this, why);
}

void remote_host::finish() {
  if (input_) input_->stop();
  // When these close, the proxy kills all remaining processes and ends.
  if (connection_) connection_->close();
  setup_->close();
  deadline_ = ssh_ > 0 ? now() + ssh_end_timeout : 0;
}

}  // namespace lci::launcher
