#include "lib/tools/lcirun/proxy.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <memory>

#include "lib/tools/lcirun/call_home.hpp"
#include "lib/tools/lcirun/guard.hpp"
#include "lib/tools/lcirun/input.hpp"
#include "lib/tools/lcirun/local_host.hpp"
#include "lib/tools/lcirun/processes.hpp"
#include "lib/tools/lcirun/throw_errno.hpp"

namespace lci::launcher {

namespace {

// Limit of output that lcirun has not written yet: its reader may be slow, which must not delay PMI.
constexpr int64_t output_window = 1 << 20;
constexpr double last_frames_timeout = 10;  // seconds for lcirun to read the last frames

class proxy : private host_events {
 public:
  proxy(proxy_setup setup, int socket, const original_state& original, int guard)
      : setup_(std::move(setup)),
        guard_(guard),
        up_(loop_, socket, max_frame,
            {[this](frame_t type, frame_reader& fields) { return on_frame(type, fields); },
             [this](const std::string&) { over_ = true; }}),
        ranks_(loop_, *this, setup_.options, setup_.share, original, setup_.job_id, {true, nullptr, make_input()}),
        open_outputs_(2 * setup_.share.count) {}

  int run() {
    loop_.watch(guard_, EPOLLIN, [this] { read_guard(); });
    if (!loop_.watch(STDIN_FILENO, EPOLLIN, [this] { read_ssh(); })) {
      throw std::runtime_error("standard input is a file");
    }
    ranks_.start();
    if (input_end_ >= 0) close(input_end_);
    while (!over_) {
      loop_.wait(done_at_ == 0 ? -1 : std::max(0.0, done_at_ + last_frames_timeout - now()));
      ranks_.update();
      tell_of_end();
      if (done_at_ != 0 && now() > done_at_ + last_frames_timeout) break;
    }
    return kill_descendants(5) ? 0 : exit_failure;
  }

 private:
  int make_input() {
    if (!setup_.share.has(0)) return -1;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
      throw_errno("pipe");
    }
    input_ = std::make_unique<input_receiver>(loop_, up_, ends[1]);
    return input_end_ = ends[0];
  }

  void send(frame_writer& frame) { up_.send(frame); }

  void tell_of_end() {
    if (!ranks_.empty()) return;
    if (!gone_) {
      gone_ = true;
      frame_writer frame(frame_t::gone);
      send(frame);
    }
    if (open_outputs_ > 0 || done_at_ != 0) return;
    done_at_ = now();
    frame_writer frame(frame_t::done);
    send(frame);
  }

  /// Kills the ranks, since the connection to lcirun has ended or ssh has exited.
  void orphaned(const char* why) {
    if (over_) return;
    over_ = true;
    frame_writer frame(frame_t::orphaned);
    send(frame.text(why));
  }

  void read_ssh() {
    char bytes[256];
    const ssize_t n = read(STDIN_FILENO, bytes, sizeof bytes);
    if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
    if (n <= 0) loop_.forget(STDIN_FILENO);
    if (n > 0) orphaned("unexpected bytes came through ssh");
    if (n <= 0 && done_at_ == 0) orphaned("the connection through ssh has ended");
  }

  void read_guard() {
    guard_order order{};
    const ssize_t n = recv(guard_, &order, sizeof order, MSG_DONTWAIT);
    if (n < 0) return;
    if (n == 0 || order.kill_hard) {
      loop_.forget(guard_);
      orphaned("its proxy was killed");
    } else {
      ranks_.forward(order.signal);
    }
  }

  bool on_frame(frame_t type, frame_reader& fields) {
    const host_share& share = setup_.share;
    if (type == frame_t::answer) {
      const int rank = fields.number(share.first, share.first + share.count - 1);
      const auto text = fields.text();
      if (fields.good()) ranks_.send(rank, std::string(text));
    } else if (type == frame_t::forward || type == frame_t::signal_all) {
      const int signal = fields.number(1, SIGRTMAX);
      if (!fields.good()) return false;
      if (type == frame_t::forward) ranks_.forward(signal);
      if (type == frame_t::signal_all) ranks_.signal_all(signal);
    } else if (type == frame_t::taken) {
      const int stream = fields.number(stream_out, stream_error);
      const int bytes = fields.number(0, in_flight_[stream]);
      if (!fields.good()) return false;
      in_flight_[stream] -= bytes;
      if (in_flight_[stream] <= output_window / 2) ranks_.read_output(stream, true);
    } else if (type == frame_t::close_output) {
      const int stream = fields.number(stream_out, stream_error);
      if (fields.good()) ranks_.close_output(stream);
    } else if (type == frame_t::input && input_) {
      const auto bytes = fields.text();
      return fields.good() && input_->add(bytes);
    } else {
      return false;
    }
    return fields.good();
  }

  void on_started(int rank, pid_t pid) override {
    frame_writer frame(frame_t::started);
    send(frame.number(rank).number(pid));
  }
  void on_requests(int rank, const char* data, size_t size) override {
    frame_writer frame(frame_t::requests);
    send(frame.number(rank).text({data, size}));
  }
  void on_no_requests(int rank) override {
    frame_writer frame(frame_t::no_requests);
    send(frame.number(rank));
  }
  void on_unread(int rank) override {
    frame_writer frame(frame_t::unread);
    send(frame.number(rank));
  }
  void on_output(int rank, int stream, const char* data, size_t size) override {
    frame_writer frame(frame_t::output);
    send(frame.number(rank).number(stream).text({data, size}));
    in_flight_[stream] += int64_t(size);
    if (in_flight_[stream] >= output_window) ranks_.read_output(stream, false);
  }
  void on_output_end(int rank, int stream) override {
    --open_outputs_;
    frame_writer frame(frame_t::output_end);
    send(frame.number(rank).number(stream));
  }
  void on_exit(int rank, int wait_status) override {
    frame_writer frame(frame_t::exited);
    send(frame.number(rank).number(wait_status));
  }
  void on_report(const std::string& text) override {
    frame_writer frame(frame_t::report);
    send(frame.text(text));
  }
  void on_lost(host&, const std::string&) override {}  // only remote hosts can be lost

  const proxy_setup setup_;
  const int guard_;
  event_loop loop_;
  connection up_;
  std::unique_ptr<input_receiver> input_;
  int input_end_ = -1;  // the rank's end of the pipe
  local_host ranks_;
  int64_t in_flight_[3] = {0, 0, 0};
  int open_outputs_;
  bool over_ = false, gone_ = false;
  double done_at_ = 0;
};

}  // namespace

int run_proxy(const original_state& original, int guard) {
  std::string name;
  allow_many_files();
  try {
    proxy_setup setup = receive_setup(STDIN_FILENO);
    name = setup.share.host;
    const int socket = call_home(setup);
    watch_peer(socket, setup.options.host_timeout);
    for (const std::string& each : setup.environment) {
      const size_t equals = each.find('=', 1);
      if (equals != std::string::npos) {
        setenv(each.substr(0, equals).c_str(), each.c_str() + equals + 1, 1);
      }
    }
    return proxy(std::move(setup), socket, original, guard).run();
  } catch (const std::exception& error) {
    complain("host " + (name.empty() ? "of a proxy" : name) + ": " + text_of(error));
    kill_descendants(5);
    return exit_failure;
  }
}

}  // namespace lci::launcher
