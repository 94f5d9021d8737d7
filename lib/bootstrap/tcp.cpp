// Ranks without a launcher: variables as torchrun sets them give each process its rank, the size, and the address of
// rank 0. Rank 0's process serves the others.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <exception>
#include <memory>
#include <optional>

#include "lci/errors.hpp"
#include "lib/bootstrap/abort_message.hpp"
#include "lib/bootstrap/environment.hpp"
#include "lib/bootstrap/kinds.hpp"
#include "lib/bootstrap/limits.hpp"
#include "lib/bootstrap/pmi1_wire.hpp"
#include "lib/bootstrap/session.hpp"
#include "lib/bootstrap/tcp_client.hpp"
#include "lib/bootstrap/tcp_root.hpp"

namespace lci::network {

namespace {

constexpr char tcp_group[] = "RANK, WORLD_SIZE, and MASTER_ADDR with MASTER_PORT or LCI_TCP_ROOT";

/// The variables with rank 0's address, in order of precedence. Host and port of a pair must both be set.
struct root_variables {
  const char* host;
  const char* port;
  bool any() const { return env_text(host) != nullptr || env_text(port) != nullptr; }
};
constexpr root_variables roots[] = {
    {"LCT_MASTER_ADDR", "LCT_MASTER_PORT"}, {"LCI_MASTER_ADDR", "LCI_MASTER_PORT"}, {"MASTER_ADDR", "MASTER_PORT"}};

const root_variables& variables_of_root() {
  for (const root_variables& v : roots)
    if (v.any()) return v;
  return roots[2];
}

tcp::meeting_point find_root() {
  tcp::meeting_point p;
  if (const char* text = env_text("LCI_TCP_ROOT")) {
    const std::string root = text;
    const size_t colon = root.rfind(':');
    p.variables = "LCI_TCP_ROOT";
    p.host = root.substr(0, colon);
    if (colon != std::string::npos) p.port = root.substr(colon + 1);
    // An IPv6 address comes in brackets.
    if (p.host.size() > 2 && p.host.front() == '[' && p.host.back() == ']') {
      p.host = p.host.substr(1, p.host.size() - 2);
    }
  } else {
    const root_variables& v = variables_of_root();
    p.variables = std::string(v.host) + ", " + v.port;
    p.host = need_text(v.host, tcp_group);
    p.port = need_text(v.port, tcp_group);
  }
  const auto port = pmi1::parse_int(p.port);
  if (p.host.empty() || !port || *port < 1 || *port > 65535) {
    throw bootstrap_error(
        p.variables + " says '" + pmi1::printable(p.text()) +
        "', which is not <host>:<port> with a port from 1 to 65535; name the host of rank 0 and a port "
        "that is free there");
  }
  return p;
}

/// From RANK and WORLD_SIZE; within a Slurm step, if only LCI_TCP_ROOT is set, from Slurm's variables.
void find_rank(int& rank, int& size) {
  if (env_text("RANK") == nullptr && env_text("WORLD_SIZE") == nullptr && env_text("LCI_TCP_ROOT") != nullptr &&
      env_text("SLURM_STEP_NUM_TASKS") != nullptr) {
    constexpr char slurm[] = "SLURM_PROCID and SLURM_STEP_NUM_TASKS";
    rank = need_number("SLURM_PROCID", 0, slurm);
    size = need_number("SLURM_STEP_NUM_TASKS", 1, slurm);
    return check_rank(rank, size, slurm);
  }
  rank = need_number("RANK", 0, tcp_group);
  size = need_number("WORLD_SIZE", 1, tcp_group);
  check_rank(rank, size, "RANK, WORLD_SIZE");
  const auto local_rank = env_number("LOCAL_RANK"), local_size = env_number("LOCAL_WORLD_SIZE");
  if (local_rank && local_size) check_rank(*local_rank, *local_size, "LOCAL_RANK, LOCAL_WORLD_SIZE");
}

class tcp_bootstrap final : public bootstrap {
 public:
  tcp_bootstrap() : timeout_(bootstrap_timeout()) {
    find_rank(rank_, size_);
    const tcp::meeting_point where = find_root();
    const tcp::job_key key;
    session_.describe("root " + where.text(), rank_, size_);
    session_.run("join", [&] {
      if (rank_ == 0) {
        serve_and_join(where, key);
      } else {
        client_ = std::make_unique<tcp::client>(tcp::connect_to(where, timeout_), where.text(), timeout_);
        job_id_ = client_->join(rank_, size_, key);
      }
    });
    fence();  // waits for all ranks; throws with the names of those missing
  }

  ~tcp_bootstrap() override {
    try {
      if (session_.usable())
        client_->send(tcp::kind::close, {});
      else
        abandon();
    } catch (const std::exception&) {
      // The root does not read, or this rank has no memory: the end of the connection has to do.
    }
  }

  const char* name() const override { return "tcp"; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string job_id() const override { return job_id_; }

  std::optional<host_place> locality() const override {
    const auto rank = env_number("LOCAL_RANK"), size = env_number("LOCAL_WORLD_SIZE");
    if (rank && size && *rank >= 0 && *rank < *size) return host_place{*rank, *size};
    return place_by_environment();
  }

  void put(const std::string& key, const std::string& value) override {
    check_bootstrap_key("put", key);
    check_bootstrap_value(key, value);
    session_.run("put", [&] {
      begin_exchange(tcp::kind::put, tcp::writer().text(key).text(value).body());
      session_.end_exchange();
    });
  }

  std::string get(const std::string& key, int owner) override {
    check_bootstrap_key("get", key);
    bool found = false;
    std::string value;
    session_.run("get", [&] {
      begin_exchange(tcp::kind::get, tcp::writer().text(key).body());
      const tcp::frame f = receive(tcp::kind::value);
      session_.end_exchange();
      tcp::reader r(f.body);
      found = r.number() != 0;
      value = r.text(max_bootstrap_value);
      if (!r.complete()) garbled();
    });
    if (!found) throw bootstrap_error(missing_key(key, owner));
    return value;
  }

  std::vector<std::string> get_all(const std::string& prefix) override {
    check_bootstrap_key("get", prefix + std::to_string(size_));
    std::vector<std::string> all;
    std::optional<int> missing;
    session_.run("get", [&] {
      all.reserve(static_cast<size_t>(size_));
      begin_exchange(tcp::kind::get_all, tcp::writer().text(prefix).body());
      while (all.size() < static_cast<size_t>(size_) && !missing) {
        const tcp::frame f = receive(tcp::kind::values, tcp::kind::missing);
        tcp::reader r(f.body);
        const uint32_t n = r.number();
        if (f.what == tcp::kind::missing) {
          missing = static_cast<int>(n);
        } else if (n == 0 || n > static_cast<size_t>(size_) - all.size()) {
          garbled();
        } else {
          for (uint32_t i = 0; i < n && r.good(); ++i) all.push_back(r.text(max_bootstrap_value));
        }
        if (!r.complete()) garbled();
      }
      session_.end_exchange();
    });
    if (missing) throw bootstrap_error(missing_key(prefix + std::to_string(*missing), *missing));
    return all;
  }

  void fence() override {
    session_.run("fence", [&] {
      const double ms = std::min(timeout_ * 1e3, 1e9);
      begin_exchange(tcp::kind::fence, tcp::writer().number(static_cast<uint32_t>(ms)).body());
      const tcp::frame f = receive(tcp::kind::fenced, tcp::kind::failed);
      session_.end_exchange();
      if (f.what == tcp::kind::fenced) return;
      tcp::reader r(f.body);
      throw bootstrap_error(r.text(tcp::max_text) + "; LCI_ATTR_BOOTSTRAP_TIMEOUT=" + seconds_text(timeout_) +
                            " is how long to wait: were all ranks started, with the same WORLD_SIZE and address?");
    });
  }

  void abort(int code, const std::string& message) override {
    announce_abort(rank_, code, message);
    try {
      if (session_.usable()) {
        client_->expect_abort();
        client_->set_timeout(5);
        client_->send(tcp::kind::abort,
                      tcp::writer().number(static_cast<uint32_t>(code)).text(message.substr(0, tcp::max_text)).body());
        while (client_->receive().what != tcp::kind::abort) {
        }
      }
    } catch (const std::exception&) {
      // The root has ended, or this rank has no memory for the message to it: exit all the same.
    }
    _exit(code);
  }

 private:
  void serve_and_join(const tcp::meeting_point& where, const tcp::job_key& key) {
    tcp::socket_fd listener = tcp::listen_at(where, std::max(size_, 64));
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0) {
      throw bootstrap_error(std::string("socketpair: ") + strerror(errno));
    }
    tcp::socket_fd ours(ends[0]), theirs(ends[1]);
    root_ = std::make_unique<tcp::root>(std::move(listener), std::move(theirs), size_, key);
    root_->set_close_timeout(timeout_);
    client_ = std::make_unique<tcp::client>(std::move(ours), where.text(), timeout_);
    job_id_ = client_->await_welcome();
  }

  /// After a failure, doesn't wait for other ranks. A forked process has neither of the threads, so it leaks the
  /// objects.
  void abandon() {
    if (session_.mine()) {
      client_.reset();
      if (root_ != nullptr) root_->set_close_timeout(0.001);
    } else {
      (void)client_.release();
      (void)root_.release();
    }
  }

  void begin_exchange(tcp::kind what, const std::string& body) {
    const std::string bytes = tcp::encode(what, body);
    session_.begin_exchange();
    client_->send_encoded(bytes);
  }

  tcp::frame receive(tcp::kind a, tcp::kind b) {
    tcp::frame f = client_->receive();
    if (f.what != a && f.what != b) garbled();
    return f;
  }
  tcp::frame receive(tcp::kind a) { return receive(a, a); }

  [[noreturn]] static void garbled() {
    throw bootstrap_error("the root of the job (rank 0) sent something else than was asked for");
  }

  const double timeout_;
  session session_{"tcp"};
  std::unique_ptr<tcp::root> root_;  // outlives the client
  std::unique_ptr<tcp::client> client_;
  int rank_ = -1, size_ = -1;
  std::string job_id_;
};

/// Detected by WORLD_SIZE or LCI_TCP_ROOT, or by RANK together with an address. MASTER_ADDR and MASTER_PORT alone may
/// be set for something else, and so may RANK.
bool tcp_detected() {
  const bool place = variables_of_root().any();
  if (env_text("LCI_TCP_ROOT") == nullptr && env_text("WORLD_SIZE") == nullptr &&
      !(place && env_text("RANK") != nullptr)) {
    return false;
  }
  int rank = 0, size = 0;
  find_rank(rank, size);
  if (size > 1 || env_text("LCI_TCP_ROOT") != nullptr) find_root();
  return size > 1;
}

std::unique_ptr<bootstrap> create_tcp() { return std::make_unique<tcp_bootstrap>(); }

}  // namespace

const bootstrap_kind tcp_kind = {"tcp", tcp_detected, create_tcp};

}  // namespace lci::network
