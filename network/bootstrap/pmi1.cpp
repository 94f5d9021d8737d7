// Ranks from a launcher that speaks PMI-1: lcirun, MPICH's hydra, Slurm's pmi2 plugin. No library:
// the protocol is spoken here, over PMI_FD (inherited) or PMI_PORT (connected to).
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "lci/errors.hpp"
#include "network/bootstrap/kinds.hpp"
#include "network/bootstrap/pmi1_channel.hpp"
#include "network/bootstrap/pmi1_value.hpp"
#include "network/bootstrap/pmi1_wire.hpp"

namespace lci::network {

namespace {

using pmi1::message;

// Lines up to here pass every server seen; some have a buffer of 1 KiB.
constexpr size_t safe_line = 1000;
// So that keys never meet those of an MPI that shares the launcher with us.
constexpr char key_prefix[] = "lci.";
constexpr size_t max_key = 48;

// Why the process's one session broke, if it did: a second try would read the first one's answers.
std::string session_failure;

int env_int(const char* name, int lowest) {
  const char* text = env_text(name);
  if (text == nullptr) {
    throw bootstrap_error(std::string("the environment is incomplete: ") +
                          "PMI_FD, PMI_RANK and PMI_SIZE belong together, but " + name +
                          " is not set; " + bootstrap_remedy);
  }
  const auto value = pmi1::parse_int(text);
  if (!value || *value < lowest) {
    throw bootstrap_error(std::string(name) + "=" + pmi1::printable(text) +
                          " is not a number from " + std::to_string(lowest) + " on; " +
                          bootstrap_remedy);
  }
  return *value;
}

/// A descriptor of our own, so that an MPI in this process may close PMI_FD when it ends.
int duplicate_pmi_fd(int fd) {
  struct stat info {};
  const char* why = nullptr;
  if (fstat(fd, &info) != 0) {
    why =
        "is not an open file descriptor; was this process started by a rank instead of by the "
        "launcher? Then unset PMI_FD, PMI_RANK and PMI_SIZE";
  } else if (!S_ISSOCK(info.st_mode)) {
    why = "is not a socket, so no launcher made it";
  }
  if (why != nullptr) {
    throw bootstrap_error("PMI_FD=" + std::to_string(fd) + " " + why + "; " + bootstrap_remedy);
  }
  // Programs that a rank starts shall not hold the launcher's socket open.
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  const int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
  if (copy < 0) {
    throw bootstrap_error("PMI_FD=" + std::to_string(fd) + ": " + strerror(errno));
  }
  return copy;
}

/// The process's session with the launcher. Not thread-safe, as the contract says. A process forked
/// off a rank may not use it: both would read from one socket.
class pmi1_bootstrap final : public bootstrap {
 public:
  pmi1_bootstrap() {
    if (!session_failure.empty()) {
      throw bootstrap_error("the launcher's session has failed before: " + session_failure);
    }
    timeout_ = bootstrap_timeout();
    if (env_text("PMI_FD") != nullptr) {
      open_fd();
    } else if (env_text("PMI_PORT") != nullptr) {
      open_port();
    } else {
      throw_no_connection();
    }
    guarded("init", [&] { init(); });
  }

  ~pmi1_bootstrap() override {
    if (getpid() != owner_ || broken_) return;
    try {
      channel_->set_timeout(timeout_ > 0 ? std::min(timeout_, 5.0) : 5.0);
      channel_->send("cmd=finalize\n");
      channel_->receive();
    } catch (const bootstrap_error&) {
      // The launcher is gone or going; there is nobody left to tell.
    }
  }

  const char* name() const override { return "pmi1"; }
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string job_id() const override { return kvsname_; }

  void put(const std::string& key, const std::string& value) override {
    check_key("put", key);
    if (value.size() > pmi1::max_value_bytes) {
      throw invalid_argument_error("bootstrap put: value of '" + key + "' has " +
                                   std::to_string(value.size()) + " bytes, the limit is " +
                                   std::to_string(pmi1::max_value_bytes));
    }
    guarded("put", [&] {
      const auto pieces = pmi1::to_pieces(value, piece_length_);
      for (size_t i = 0; i < pieces.size(); ++i) {
        const message reply =
            ask("cmd=put kvsname=" + kvsname_ + " key=" + wire_key(key, i) + " value=" + pieces[i],
                "put_result");
        if (reply.number("rc") != 0) {
          refuse("refused key '" + key + "': " + pmi1::printable(reply.text("msg")));
        }
      }
    });
  }

  std::string get(const std::string& key) override {
    check_key("get", key);
    std::vector<std::string> pieces;
    bool found = true;
    guarded("get", [&] {
      size_t count = 1;
      for (size_t i = 0; i < count && found; ++i) {
        const message reply =
            ask("cmd=get kvsname=" + kvsname_ + " key=" + wire_key(key, i), "get_result");
        if (reply.number("rc") != 0) {
          if (i > 0) refuse("lost a part of the value of key '" + key + "'");
          found = false;
          break;
        }
        pieces.push_back(reply.text("value"));
        if (i > 0) continue;
        const auto parsed = pmi1::piece_count(pieces[0]);
        if (!parsed) refuse("returned a garbled value for key '" + key + "'");
        count = *parsed;
      }
    });
    if (!found) {
      throw bootstrap_error("bootstrap: no rank has put key '" + key + "' before the last fence");
    }
    auto value = pmi1::from_pieces(pieces);
    if (!value) guarded("get", [&] { refuse("returned a garbled value for key '" + key + "'"); });
    return *value;
  }

  void fence() override {
    guarded("fence", [&] {
      const message reply = ask("cmd=barrier_in", "barrier_out");
      if (reply.find("rc") != nullptr && reply.number("rc") != 0) {
        refuse("reports a failed barrier: " + pmi1::printable(reply.text("msg")));
      }
    });
  }

  void abort(int code, const std::string& message) override {
    const std::string text = "lci: rank " + std::to_string(rank_) + ": abort with code " +
                             std::to_string(code) + ": " + message + "\n";
    [[maybe_unused]] const ssize_t n = write(STDERR_FILENO, text.data(), text.size());
    try {
      if (!broken_) {
        channel_->set_timeout(timeout_ > 0 ? std::min(timeout_, 5.0) : 5.0);
        channel_->send("cmd=abort exitcode=" + std::to_string(code) + "\n");
      }
    } catch (const bootstrap_error&) {
      // Without a launcher, leaving is all that can be done.
    }
    _exit(code);
  }

 private:
  void open_fd() {
    const int fd = env_int("PMI_FD", 0);
    rank_ = env_int("PMI_RANK", 0);
    size_ = env_int("PMI_SIZE", 1);
    check_rank();
    where_ = "PMI_FD=" + std::to_string(fd);
    channel_.emplace(duplicate_pmi_fd(fd), timeout_);
  }

  void open_port() {
    const char* id = env_text("PMI_ID");
    const std::string port = env_text("PMI_PORT");
    if (id == nullptr) {
      throw bootstrap_error(
          std::string("the environment is incomplete: PMI_PORT and PMI_ID belong together, but "
                      "PMI_ID is not set; ") +
          bootstrap_remedy);
    }
    where_ = "PMI_PORT=" + pmi1::printable(port);
    channel_.emplace(pmi1::channel::connect_to(port, timeout_), timeout_);
    guarded("connect", [&] {
      check_reply(ask("cmd=initack pmiid=" + std::string(id), "initack"));
      bool debug_seen = false;
      while (rank_ < 0 || size_ < 0 || !debug_seen) {
        const message reply = read_reply("set");
        if (reply.find("size") != nullptr) size_ = reply.number("size").value_or(-2);
        if (reply.find("rank") != nullptr) rank_ = reply.number("rank").value_or(-2);
        debug_seen = debug_seen || reply.find("debug") != nullptr;
        if (rank_ == -2 || size_ == -2) refuse("sent a rank or size that is no number");
      }
    });
    check_rank();
  }

  [[noreturn]] static void throw_no_connection() {
    std::string set;
    for (const char* name : {"PMI_RANK", "PMI_SIZE", "PMI_ID"}) {
      if (env_text(name) != nullptr) set += (set.empty() ? "" : ", ") + std::string(name);
    }
    throw bootstrap_error("neither PMI_FD nor PMI_PORT is set" +
                          (set.empty() ? "" : ", although " + set + " is: incomplete environment") +
                          "; " + bootstrap_remedy);
  }

  void check_rank() const {
    if (size_ >= 1 && rank_ >= 0 && rank_ < size_) return;
    throw bootstrap_error("rank " + std::to_string(rank_) + " of " + std::to_string(size_) +
                          " is impossible (PMI_RANK, PMI_SIZE, or what the launcher at PMI_PORT "
                          "says); " +
                          bootstrap_remedy);
  }

  void init() {
    check_reply(ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init"));
    const message maxes = ask("cmd=get_maxes", "maxes");
    const int key_max = maxes.number("keylen_max").value_or(-1);
    const int value_max = maxes.number("vallen_max").value_or(-1);
    // 8 is for the prefix and the number of a piece, the zero included.
    if (key_max < int(max_key + sizeof key_prefix + 8) || value_max < 128) {
      refuse("grants keys of " + std::to_string(key_max) + " and values of " +
             std::to_string(value_max) + " bytes, which is too little or no answer");
    }
    const message name = ask("cmd=get_my_kvsname", "my_kvsname");
    kvsname_ = name.text("kvsname");
    if (kvsname_.empty() || kvsname_.size() >= pmi1::kvsname_max) {
      refuse("named no key-value space, or one with too long a name");
    }
    const size_t around =
        std::strlen("cmd=put kvsname= key= value=\n") + kvsname_.size() + size_t(key_max);
    piece_length_ = std::min({size_t(value_max) - 1, pmi1::value_max - 1, safe_line - around});
  }

  void check_reply(const message& reply) {
    if (reply.find("rc") != nullptr && reply.number("rc") != 0) {
      refuse("refused: " + pmi1::printable(reply.text("msg")));
    }
  }

  static void check_key(const char* operation, const std::string& key) {
    const bool plain = std::all_of(key.begin(), key.end(), [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
             std::strchr("_-.:/", c) != nullptr;
    });
    if (plain && !key.empty() && key.size() <= max_key && key.find('\0') == std::string::npos) {
      return;
    }
    throw invalid_argument_error(std::string("bootstrap ") + operation + ": key '" +
                                 pmi1::printable(key) + "' must be 1.." + std::to_string(max_key) +
                                 " letters, digits or any of _-.:/");
  }

  /// Piece 0 under the key itself, others under names that no key can have.
  static std::string wire_key(const std::string& key, size_t piece) {
    std::string text = key_prefix + key;
    if (piece > 0) text += "+" + std::to_string(piece);
    return text;
  }

  message ask(const std::string& request, const char* expected) {
    channel_->send(request + "\n");
    return read_reply(expected);
  }

  message read_reply(const char* expected) {
    const std::string line = channel_->receive();
    std::string why;
    auto reply = message::parse(line, why);
    if (!reply) refuse("sent " + why + ": '" + pmi1::printable(line) + "'");
    if (reply->text("cmd") != expected) {
      refuse("sent '" + pmi1::printable(line) + "' where cmd=" + expected + " was due");
    }
    return *std::move(reply);
  }

  [[noreturn]] static void refuse(const std::string& what) {
    throw bootstrap_error("the launcher " + what);
  }

  /// Runs one operation; whatever fails in it ends the session, since the next answer would be
  /// taken for that of another question.
  template <class F>
  void guarded(const char* operation, F&& body) {
    const std::string who = "pmi1 bootstrap (" + where_ + ", rank " + std::to_string(rank_) +
                            " of " + std::to_string(size_) + "): " + operation + ": ";
    if (getpid() != owner_) {
      throw bootstrap_error(who + "this process was forked off rank " + std::to_string(rank_) +
                            "; only the rank itself may use LCI");
    }
    if (broken_) throw bootstrap_error(who + "the session has failed before: " + session_failure);
    try {
      body();
    } catch (const bootstrap_error& error) {
      broken_ = true;
      session_failure = who + error.what();
      throw bootstrap_error(session_failure);
    }
  }

  const pid_t owner_ = getpid();
  int rank_ = -1, size_ = -1;
  double timeout_ = 0;
  bool broken_ = false;
  std::string where_, kvsname_;
  size_t piece_length_ = 0;
  std::optional<pmi1::channel> channel_;
};

bool pmi1_detected() {
  for (const char* name : {"PMI_FD", "PMI_PORT", "PMI_RANK", "PMI_SIZE", "PMI_ID"}) {
    if (env_text(name) != nullptr) return true;
  }
  return false;
}

std::unique_ptr<bootstrap> create_pmi1() { return std::make_unique<pmi1_bootstrap>(); }

}  // namespace

const bootstrap_kind pmi1_kind = {"pmi1", pmi1_detected, create_pmi1};

}  // namespace lci::network
